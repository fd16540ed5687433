// A start, step 1 of 6: prepares Node.js, then loads start.ts.
import { prepareNode } from './prepare-node.js';

// As `nest start` runs it. `plant-store serve` also sets V8's flags: bin/plant-store.
prepareNode();
const { serve } = await import('./start.js');
await serve();
