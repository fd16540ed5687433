import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { describeRun, publish, table, type Outcome } from '../../bench/markdown.js';
import { Fuzzer } from './fuzzer.js';
import { fuzzDocuments, VERSION } from './schemathesis.js';
import { withstandCrowds } from './withstand.js';

/** Rounds of equal load. Memory may grow by so many MiB from the second, when all code is loaded, to the last. */
const [ROUNDS, MAX_GROWTH_MB] = [5, 32];

/** Milliseconds of a round. */
const ROUND_LIMIT_MS = 900_000;

/** `npm run fuzz`: sends the service invalid requests, by a printed seed. */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(randomInt(2 ** 30)) },
    // Repeats a failure of raw requests: the path that fast-check printed, and whether it was over TLS.
    path: { type: 'string' },
    tls: { type: 'boolean', default: false },
    // `--only crowd`, `raw` or `document` does nothing else, and writes nothing; `--crowd` is the size of each crowd.
    only: { type: 'string' },
    crowd: { type: 'string' },
  },
});
const { quick, only, path } = values;
const seed = Number(values.seed);
console.log(`seed ${seed}`);
if (path !== undefined) publish([], (await fuzzRaw(values.tls, 1)).wrong);

const clients = Number(values.crowd ?? (quick ? 1_000 : 4_000));
/** For each of TCP and TLS, and for each engine. */
const [connections, cases] = quick ? [5_000, 1_000] : [50_000, 50_000];
const parts: Readonly<Record<string, () => Promise<Outcome[]>>> = {
  raw: async () => [await fuzzRaw(false, connections), await fuzzRaw(true, connections)],
  document: () => fuzzDocuments(seed, cases),
  crowd: () => withstandCrowds(seed, clients),
};
const outcomes: Outcome[][] = [];
for (const [name, run] of Object.entries(parts)) {
  if (only === undefined || only === name) outcomes.push(await run());
}
if (outcomes.length === 0) throw new Error(`there is no part ${only}`);
const report = [
  describeRun(process.versions.node, `- seed ${seed}, Schemathesis ${VERSION}`),
  ...outcomes.map((part) => table(part.map(({ row }) => row))),
];
const wrong = outcomes.flat().flatMap((outcome) => outcome.wrong);
publish(report, wrong, ['drill/RESULTS.md', 'fuzz'], quick || only !== undefined);

/** Sends raw requests in rounds, until one fails. */
async function fuzzRaw(isTls: boolean, total: number): Promise<Outcome> {
  const fuzzer = await Fuzzer.start(isTls);
  const wrong: string[] = [];
  const memory: number[] = [];
  const began = performance.now();
  for (let round = 0; round < (path === undefined ? ROUNDS : 1) && wrong.length === 0; round++) {
    try {
      const runs = { seed: seed + round, connections: total / ROUNDS, limitMs: ROUND_LIMIT_MS };
      await fuzzer.check({ ...runs, path });
      memory.push(await fuzzer.measureMemory());
      console.log(`${isTls ? 'TLS' : 'TCP'}: ${fuzzer.counts.connections} connections`);
    } catch (error) {
      wrong.push(`${isTls ? 'TLS' : 'TCP'}: ${String(error)}`);
    }
  }
  const seconds = (performance.now() - began) / 1_000;
  await fuzzer.stop();
  const growth = (memory.at(-1) ?? 0) - (memory[1] ?? Infinity);
  if (growth > MAX_GROWTH_MB) wrong.push(`memory grows: ${memory.join(', ')} MiB`);
  const row = {
    '': isTls ? 'TLS' : 'TCP',
    connections: fuzzer.counts.connections,
    'a second': fuzzer.counts.connections / seconds,
    responses: fuzzer.counts.responses,
    'creates beside': fuzzer.counts.creates,
    'longest, ms': fuzzer.counts.longestMs,
    'memory after each round, MiB': memory.join(', '),
  };
  return { row, wrong };
}
