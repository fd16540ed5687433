import { randomInt } from 'node:crypto';
import { program } from 'commander';
import { describeRun, report, table, type Cells } from '../../bench/markdown.js';
import { Fuzzer } from './fuzzer.js';
import { withstandCrowds } from './withstand.js';

/** Rounds of equal load. Memory may grow by so many MiB from the second, when all code is loaded, to the last. */
const [ROUNDS, MAX_GROWTH_MB] = [5, 32];
/** Milliseconds of a round. */
const ROUND_LIMIT_MS = 900_000;

/** `npm run fuzz`: sends the service invalid requests, and crowds of clients without a token. */
const { quick, seed, only } = program
  .name('npm run fuzz --')
  .option('--quick', 'send little', false)
  .option('--seed <n>', 'repeat the requests of a run', Number, randomInt(2 ** 30))
  .option('--only <part>', '`raw` or `crowd`')
  .parse()
  .opts<{ quick: boolean; seed: number; only?: 'raw' | 'crowd' }>();
console.log(`seed ${seed}`);
const connections = quick ? 5_000 : 50_000;
const raw =
  only === 'crowd' ? [] : [await fuzzRaw(false, connections), await fuzzRaw(true, connections)];
const crowds = only === 'raw' ? [] : await withstandCrowds();
const tables = [raw, crowds]
  .filter((results) => results.length > 0)
  .map((results) => table(results.map(({ row }) => row)));
const wrong = [...raw, ...crowds].flatMap((result) => result.wrong);
report([describeRun(`seed ${seed}`), ...tables], wrong);

/** Sends raw requests in rounds, until one fails. @param total connections */
async function fuzzRaw(isTls: boolean, total: number): Promise<{ row: Cells; wrong: string[] }> {
  const name = isTls ? 'TLS' : 'TCP';
  const fuzzer = await Fuzzer.start(isTls);
  const wrong: string[] = [];
  const memory: number[] = [];
  for (let round = 0; round < ROUNDS && wrong.length === 0; round++) {
    try {
      await fuzzer.check(seed + round, total / ROUNDS, ROUND_LIMIT_MS);
      memory.push(await fuzzer.measureMemory());
      console.log(`${name}: ${fuzzer.counts.connections} connections`);
    } catch (error) {
      wrong.push(`${name}: ${String(error)}`);
    }
  }
  await fuzzer.stop();
  const growth = (memory.at(-1) ?? 0) - (memory[1] ?? Infinity);
  if (growth > MAX_GROWTH_MB) wrong.push(`memory grows: ${memory.join(', ')} MiB`);
  const { counts } = fuzzer;
  const row = {
    '': name,
    connections: counts.connections,
    responses: counts.responses,
    'creates beside': counts.creates,
    'longest, ms': counts.longestMs,
    'memory after each round, MiB': memory.join(', '),
  };
  return { row, wrong };
}
