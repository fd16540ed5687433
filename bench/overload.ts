import { flood } from './flood.js';
import { describeMachine } from './hardware.js';
import { number, percent, table } from './markdown.js';
import { readOptions } from './options.js';
import { writeBlock } from './page.js';
import { CORES, stepAside, temporaryFolder, WORK } from './processes.js';
import { prepareRuntime } from './runtime.js';
import { startServer } from './server.js';
import { spreadOf } from './statistics.js';
import { createStore, serviceOver } from './store.js';
import { residentBytes } from './usage.js';

/** `npm run bench:overload`: what the service still does for more load than it can take. */
const options = readOptions();
const runtime = prepareRuntime(options.node);
stepAside();
const folder = temporaryFolder();
const store = createStore(`sqlite:${folder}/plants.sqlite`, folder, runtime);
const server = await startServer(serviceOver(store, 'this service', folder), runtime);
/** As many as a busy proxy, or a crowd of clients, would open. */
const CONNECTIONS = 4_000;
const { url, token } = server;
/** Requests a second, more than anyone sends. */
const UNBOUNDED = 1_000_000;
let nextId = 0;

/** Floods the server at a rate, and looks at its memory meanwhile. */
async function measure(rate: number, seconds: number) {
  let memory = 0;
  const look = setInterval(() => (memory = Math.max(memory, residentBytes(server.pid))), 200);
  const load = { url, token, connections: CONNECTIONS, rate, seconds };
  const result = await flood(load, nextId);
  nextId += Math.ceil(rate * seconds) + 1;
  clearInterval(look);
  return { ...result, memory };
}
type Sample = Awaited<ReturnType<typeof measure>>;

/** What is accepted of clients of which each waits for its answer: no more than the service can take. */
async function findCapacity(): Promise<number> {
  const found: number[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const load = { url, token, connections: options.connections, rate: UNBOUNDED };
    const seconds = round === 0 ? options.warmUp + options.seconds : options.seconds;
    const { accepted } = await flood({ ...load, seconds }, nextId);
    nextId += UNBOUNDED * seconds;
    found.push(accepted);
  }
  return spreadOf(found).median;
}

const FACTORS = [1, 2, 5, 10];
const capacity = await findCapacity();
const samples = FACTORS.map(() => [] as Sample[]);
const recovered: Sample[] = [];
for (let round = 0; round < options.rounds; round++) {
  for (const [i, factor] of FACTORS.entries()) {
    samples[i]?.push(await measure(factor * capacity, options.seconds));
  }
  // At once after the worst.
  recovered.push(await measure(capacity / 2, options.seconds));
}
await server.stop();

const median = (of: readonly Sample[], field: keyof Sample) =>
  spreadOf(of.map((sample) => sample[field])).median;
const row = (name: string, of: readonly Sample[]) => [
  name,
  number(median(of, 'sent'), 0),
  `${number(median(of, 'accepted'), 0)} (${percent(median(of, 'accepted') / capacity)})`,
  number(median(of, 'refused'), 0),
  `${number(median(of, 'p99'), 0)} ms`,
  `${number(median(of, 'memory') / 2 ** 20, 0)} MB`,
  number(
    of.reduce((sum, { errors }) => sum + errors, 0),
    0,
  ),
];
const head = [
  'load',
  'sent/s',
  '200/s (of capacity)',
  '503/s',
  'p99 of the 200s',
  'memory',
  'errors',
];
const rows = FACTORS.map((factor, i) => row(`${factor} × capacity`, samples[i] ?? []));
const args = process.argv.slice(2);
const report = [
  [
    `- ${new Date().toISOString().slice(0, 10)}, \`npm run bench:overload${args.length > 0 ? ` -- ${args.join(' ')}` : ''}\`, Node ${runtime.version}`,
    describeMachine(WORK),
    `- SQLite, ${CONNECTIONS} connections, ${CORES ? `server on core ${CORES.server}, load on core ${CORES.load}` : 'server and load on the same cores'}`,
    `- capacity: ${number(capacity, 0)} creates/s, by ${options.connections} clients of which each waits for its answer`,
    `- medians of ${options.rounds} rounds of ${options.seconds} s; the load comes at its own pace: a request goes out on a connection that is free, and where none is, not at all`,
  ].join('\n'),
  table(head, [...rows, row('then ½ × capacity', recovered)]),
].join('\n\n');
console.log(`\n${report}`);
if (!options.quick) writeBlock('performance.md', 'overload', report);
