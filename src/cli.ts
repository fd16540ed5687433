// A start, step 1 of 6, by `plant-store serve`: prepares Node.js, then runs the command that is named.
import { prepareNode } from './prepare-node.js';

prepareNode();
const { main } = await import('./cli/program.js');
await main({ serve: async () => (await import('./start.js')).addServeCommand });
