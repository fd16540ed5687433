import { prepareNode } from './prepare-node.js';

prepareNode();
const { main } = await import('./cli/program.js');
await main({ serve: async () => (await import('./start.js')).addServeCommand });
