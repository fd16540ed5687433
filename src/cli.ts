#!/usr/bin/env node
import { prepareNode } from './prepare-node.js';

prepareNode();
await import('./cli/program.js');
