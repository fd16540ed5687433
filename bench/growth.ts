import { mkdtempSync } from 'node:fs';
import { describeRun } from './machine.js';
import { format } from './markdown.js';
import { measure } from './measure.js';
import { readOptions } from './options.js';
import { writeBlock } from './page.js';
import { startPostgres } from './postgres.js';
import { stepAside, temporaryFolder } from './processes.js';
import { aimsOf, notesOn, ratio } from './report.js';
import { inRounds, type Row } from './rounds.js';
import { prepareRuntime } from './runtime.js';
import { startServer } from './server.js';
import { createStore, fill, serviceOver } from './store.js';
import { tableOf } from './table.js';

/**
 * PostgreSQL's default buffers, 128 MB, do not hold the large store: creates would put pages out for
 * one another, which says nothing of the service.
 */
const SETTINGS = ['shared_buffers=1GB', 'max_wal_size=4GB'];

type Pair = [large: Row, empty: Row];

/** `npm run bench:growth`: the service over a large store and over an empty one, with random ids. */
const options = readOptions();
const runtime = prepareRuntime(options.node);
const postgres = await startPostgres(SETTINGS);
stepAside();
const folder = temporaryFolder();

let databases = 0;
const engines = [
  { engine: 'SQLite', newUrl: () => `sqlite:${mkdtempSync(`${folder}/`)}/plants.sqlite` },
  { engine: 'PostgreSQL', newUrl: () => postgres.create(`plants${++databases}`), of: postgres.pid },
];

const size = options.plants.toLocaleString('en');
const contestants = [];
for (const { engine, newUrl, of: database } of engines) {
  const newStore = async () => createStore(await newUrl(), folder, runtime);
  const large = await newStore();
  console.log(`filling ${engine} with ${size} plants`);
  await fill(large, options.plants);
  contestants.push(
    { name: `${engine}, ${size} plants`, engine, database, store: () => large },
    // Each round starts the service anew, since an empty store is empty only once.
    { name: `${engine}, empty`, engine, database, store: newStore },
  );
}
const rows = await inRounds(contestants, options.rounds, async ({ name, database, store }) => {
  const service = serviceOver(await store(), name, folder);
  const server = await startServer({ ...service, database }, runtime);
  const sample = await measure(server, options, 'wide');
  await server.stop();
  return sample;
});
await postgres.stop();

const LEAST = 0.9;
const sections = engines.flatMap(({ engine }) => {
  const ofEngine: Row[] = rows.filter(({ contestant }) => contestant.engine === engine);
  const [large, empty] = ofEngine as Pair;
  const found = ratio(large, empty);
  const aim = {
    aim: `at ${size} plants at least ${LEAST} × the creates/s of an empty store`,
    found: `${format(found, 2)} ×`,
    reached: found.median >= LEAST,
  };
  return [`### ${engine}`, tableOf([large, empty]), notesOn([large, empty]), aimsOf([aim])];
});
const report = [describeRun('bench:growth', options, runtime, postgres), ...sections].join('\n\n');
console.log(`\n${report}`);
if (!options.quick) writeBlock('performance.md', 'growth', report);
