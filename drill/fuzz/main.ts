import { randomInt } from 'node:crypto';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { describeMachine } from '../../bench/hardware.js';
import { table } from '../../bench/markdown.js';
import { writeBlock } from '../../bench/page.js';
import { startPostgres } from '../../bench/postgres.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { BYTES_HEAD, fuzzBytes } from './bytes.js';
import { Fuzzer } from './fuzzer.js';
import { fuzzDocument, installSchemathesis, VERSION } from './schemathesis.js';

/** `npm run fuzz`: sends the service what nobody should, by a seed that is printed. */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    // Plays a single connection of a run once more.
    connection: { type: 'string' },
    tls: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
console.log(`seed ${seed}`);
if (values.connection !== undefined) await replay(Number(values.connection));

installSchemathesis();
/** For each of TCP and TLS, and for each engine: 100,000 of either in a whole run. */
const [connections, cases] = values.quick ? [5_000, 1_000] : [50_000, 50_000];
const bytes = [await fuzzBytes(seed, connections, false), await fuzzBytes(seed, connections, true)];
const postgres = await startPostgres(['fsync=off']);
const server = await postgres.create('fuzz');
const documents = await Promise.all([
  fuzzDocument('SQLite', () => Promise.resolve(new SqliteStore()), seed, cases),
  fuzzDocument('PostgreSQL', () => PostgresStore.create(server), seed, cases),
]);
await postgres.stop();

const wrong = [...bytes, ...documents].flatMap((each) => each.wrong);
const node = `Node ${process.versions.node}, Schemathesis ${VERSION}`;
const date = new Date().toISOString().slice(0, 10);
const report = [
  `- ${date}, \`npm run fuzz -- --seed ${seed}\`, ${node}\n${describeMachine(tmpdir())}`,
  table(
    BYTES_HEAD,
    bytes.map(({ row }) => row),
  ),
  table(
    ['Schemathesis', 'cases', 'a second', 'failures'],
    documents.map(({ row }) => row),
  ),
].join('\n\n');
console.log(`\n${report}`);
if (wrong.length > 0) console.error(`\n${wrong.length} wrong:\n\n${wrong.join('\n\n')}`);
else if (!values.quick) writeBlock('reliability.md', 'fuzz', report);
process.exit(wrong.length > 0 ? 1 : 0);

async function replay(connection: number): Promise<never> {
  const fuzzer = await Fuzzer.start(seed, values.tls);
  await fuzzer.play(connection);
  await fuzzer.subject.settle();
  console.log(fuzzer.subject.service.output, fuzzer.statuses, fuzzer.findings.join('\n'));
  await fuzzer.subject.service.remove();
  process.exit();
}
