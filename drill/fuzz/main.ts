import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { describeRun, publish, table } from '../../bench/markdown.js';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { BYTES_HEAD, fuzzBytes, Fuzzer } from './fuzzer.js';
import { fuzzDocument, installSchemathesis, VERSION } from './schemathesis.js';
import { CROWD_HEAD, withstandCrowds } from './withstand.js';

/** `npm run fuzz`: sends the service what nobody should, by a seed that is printed. */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    // Plays a single connection of a run once more.
    connection: { type: 'string' },
    tls: { type: 'boolean', default: false },
    // `--only crowd` has crowds of clients attack, and nothing else; `--crowd` is how many each has.
    only: { type: 'string' },
    crowd: { type: 'string' },
  },
});
const seed = Number(values.seed);
console.log(`seed ${seed}`);
if (values.connection !== undefined) await replay(Number(values.connection));

const clients = Number(values.crowd ?? (values.quick ? 1_000 : 4_000));
const crowds = await withstandCrowds(seed, clients);
const crowdReport = table(
  CROWD_HEAD,
  crowds.map(({ row }) => row),
);
if (values.only === 'crowd') {
  const wrong = crowds.flatMap((each) => each.wrong);
  publish([crowdReport], wrong);
}

installSchemathesis();
/** For each of TCP and TLS, and for each engine: 100,000 of either in a whole run. */
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
  table(
    BYTES_HEAD,
    bytes.map(({ row }) => row),
  ),
  table(
    ['Schemathesis', 'cases', 'a second', 'failures'],
    documents.map(({ row }) => row),
  ),
  crowdReport,
];
const wrong = [...bytes, ...documents, ...crowds].flatMap((each) => each.wrong);
publish(report, wrong, values.quick ? undefined : ['drill/RESULTS.md', 'fuzz']);

async function replay(connection: number): Promise<never> {
  const fuzzer = await Fuzzer.start(seed, values.tls);
  await fuzzer.play(connection);
  await fuzzer.subject.settle();
  console.log(fuzzer.subject.service.output, fuzzer.findings.join('\n'));
  await fuzzer.subject.service.remove();
  process.exit();
}
