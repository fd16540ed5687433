import { prepareNode } from './prepare-node.js';

prepareNode();
await import('./start.js');
