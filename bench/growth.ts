import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { describeRun } from './machine.js';
import { format } from './markdown.js';
import { measure } from './measure.js';
import { readOptions } from './options.js';
import { writeBlock } from './page.js';
import { stepAside, temporaryFolder } from './processes.js';
import { aimsOf, notesOn, ratio, tableOf } from './report.js';
import { inRounds, type Row } from './rounds.js';
import { prepareRuntime } from './runtime.js';
import { startServer } from './server.js';
import { createStore, fill, serviceOver } from './store.js';

/** `npm run bench:growth`: the service over a large store and over an empty one, with random ids. */
const options = readOptions();
const runtime = prepareRuntime(options.node);
stepAside();
const folder = temporaryFolder();
const newStore = () => createStore(join(mkdtempSync(`${folder}/`), 'plants.sqlite'), runtime);

const size = options.plants.toLocaleString('en');
const large = newStore();
console.log(`filling a store with ${size} plants`);
fill(large, options.plants);

// Each round starts the service anew, since an empty store is empty only once.
const contestants = [
  { name: `${size} plants`, store: () => large },
  { name: 'empty store', store: newStore },
];
const rows = (await inRounds(contestants, options.rounds, async ({ name, store }) => {
  const { file, token } = store();
  const server = await startServer(serviceOver({ file, token }, name, runtime), runtime);
  const sample = await measure(server, options, { token, ids: 'wide' });
  await server.stop();
  return sample;
})) as [large: Row, empty: Row];

const LEAST = 0.9;
const found = ratio(...rows);
const report = [
  describeRun('bench:growth', options, runtime),
  tableOf(rows),
  notesOn(rows),
  aimsOf([
    {
      aim: `at ${size} plants at least ${LEAST} × the creates/s of an empty store`,
      found: `${format(found, 2)} ×`,
      reached: found.median >= LEAST,
    },
  ]),
].join('\n\n');
console.log(`\n${report}`);
if (!options.quick) writeBlock('growth', report);
