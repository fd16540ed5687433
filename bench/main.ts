import { join } from 'node:path';
import { aimsFor, type Rows } from './aims.js';
import { describeRun } from './machine.js';
import { measure } from './measure.js';
import { readOptions } from './options.js';
import { writeBlock, writePlot } from './page.js';
import { plotOf } from './plot.js';
import { stepAside, temporaryFolder } from './processes.js';
import { aimsOf, noteOnLoad, notesOn, tableOf } from './report.js';
import { inRounds, type Row } from './rounds.js';
import { prepareRuntime } from './runtime.js';
import { startServer, type Program } from './server.js';
import { countPlants, createStore, serviceOver } from './store.js';

/** `npm run bench`: the service beside three others that are as bare as they can be. */
const options = readOptions();
const runtime = prepareRuntime(options.node);
stepAside();
const folder = temporaryFolder();
const store = createStore(join(folder, 'plant-store.sqlite'), runtime);
const otherFile = join(folder, 'fastify.sqlite');

const program = (name: string, file: string, env = {}): Program => ({
  name,
  args: [join(runtime.root, 'dist/bench/servers', file)],
  env,
  cwd: folder,
});
const programs = [
  serviceOver(store, 'this service', runtime),
  program('stock Nest, empty handler', 'stock-nest.js'),
  program('Fastify + better-sqlite3', 'fastify.js', { STORE: otherFile, TOKEN: store.token }),
  program('bare node:http', 'bare.js'),
];
const servers = await Promise.all(programs.map((each) => startServer(each, runtime)));
const rows = (await inRounds(servers, options.rounds, (server) =>
  measure(server, options, { token: store.token, ids: 'sequential' }),
)) as Rows;
await Promise.all(servers.map((server) => server.stop()));
checkStored(store.file, rows[0]);
checkStored(otherFile, rows[2]);

const report = [
  describeRun('bench', options, runtime),
  tableOf(rows),
  `${notesOn(rows)} ${noteOnLoad(rows[3])}`,
  aimsOf(aimsFor(rows, Number.parseInt(runtime.version))),
].join('\n\n');
console.log(`\n${report}`);
if (!options.quick) {
  const name = `node${Number.parseInt(runtime.version)}`;
  const title = `Creates a second, Node ${runtime.version}`;
  const picture = writePlot(name, plotOf(rows, title));
  writeBlock(name, `![${title}](${picture})\n\n${report}`);
}

/** An answer of 200 says that the plant is stored: so it must be. */
function checkStored(file: string, { name, samples }: Row): void {
  const accepted = samples.reduce((sum, sample) => sum + sample.accepted, 0);
  const stored = countPlants(file);
  if (stored < accepted) throw new Error(`${name}: ${accepted} accepted, but ${stored} stored`);
}
