import { afterAll, afterEach } from '@jest/globals';
import { demandSecrecy } from './secrecy.js';

afterEach(demandSecrecy);
afterAll(demandSecrecy);
