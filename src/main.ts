// A start, step 1 of 6, by `nest start`. `plant-store serve` loads cli.ts instead, which ends in the same serve().
import { prepareNode } from './prepare-node.js';

// As `nest start` runs it. `plant-store serve` also sets V8's flags: bin/plant-store.
prepareNode();
const { serve } = await import('./start.js');
await serve();
