import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { describeRun, publish, table, type Outcome } from '../../bench/markdown.js';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { fuzzBytes, Fuzzer } from './fuzzer.js';
import { fuzzDocument, installSchemathesis, VERSION } from './schemathesis.js';
import { withstandCrowds } from './withstand.js';

/** `npm run fuzz`: sends the service invalid requests, by a printed seed. */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    // Repeats a single connection of a run.
    connection: { type: 'string' },
    tls: { type: 'boolean', default: false },
    // `--only crowd` attacks with crowds, and does nothing else; `--crowd` is the size of each.
    only: { type: 'string' },
    crowd: { type: 'string' },
  },
});
const seed = Number(values.seed);
console.log(`seed ${seed}`);
if (values.connection !== undefined) await replay(Number(values.connection));

const clients = Number(values.crowd ?? (values.quick ? 1_000 : 4_000));
const crowds = await withstandCrowds(seed, clients);
const crowdReport = tabulate(crowds);
if (values.only === 'crowd') publish([crowdReport], wrongOf(crowds));

installSchemathesis();
/** For each of TCP and TLS, and for each engine. */
const [connections, cases] = values.quick ? [5_000, 1_000] : [50_000, 50_000];
const bytes = [await fuzzBytes(seed, connections, false), await fuzzBytes(seed, connections, true)];
const server = await PostgresServer.start();
const documents = await Promise.all([
  fuzzDocument('SQLite', () => Promise.resolve(new SqliteStore()), seed, cases),
  fuzzDocument('PostgreSQL', () => PostgresStore.create(server.url()), seed, cases),
]);
await server.remove();
const report = [
  describeRun(process.versions.node, `- seed ${seed}, Schemathesis ${VERSION}`),
  tabulate(bytes),
  tabulate(documents),
  crowdReport,
];
const wrong = wrongOf([...bytes, ...documents, ...crowds]);
publish(report, wrong, ['drill/RESULTS.md', 'fuzz'], values.quick);

function tabulate(outcomes: readonly Outcome[]): string {
  return table(outcomes.map(({ row }) => row));
}

function wrongOf(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ wrong }) => wrong);
}

async function replay(connection: number): Promise<never> {
  const fuzzer = await Fuzzer.start(seed, values.tls);
  await fuzzer.play(connection);
  await fuzzer.settle();
  console.log(fuzzer.service.output, fuzzer.findings.join('\n'));
  await fuzzer.service.remove();
  process.exit();
}
