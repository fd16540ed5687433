import { afterAll, afterEach } from '@jest/globals';
import { assertSecrecy } from './secrecy.js';

afterEach(assertSecrecy);
afterAll(assertSecrecy);
