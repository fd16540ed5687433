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
const raw = only === 'crowd' ? [] : [await fuzzRaw('TCP'), await fuzzRaw('TLS')];
const crowds = only === 'raw' ? [] : await withstandCrowds();
const tables = [raw, crowds].filter((rows) => rows.length > 0).map(table);
report([describeRun(`seed ${seed}`), ...tables], []);

/** Sends raw requests in rounds. @throws Error for the first fault, or if memory grows */
async function fuzzRaw(name: 'TCP' | 'TLS'): Promise<Cells> {
  const fuzzer = await Fuzzer.start(name === 'TLS');
  const memory: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await fuzzer.check(seed + round, quick ? 1_000 : 10_000, ROUND_LIMIT_MS);
    memory.push(await fuzzer.measureMemory());
    console.log(`${name}: ${fuzzer.counts.connections} connections`);
  }
  await fuzzer.stop();
  const sizes = `${memory.join(', ')} MiB`;
  const growth = (memory.at(-1) ?? NaN) - (memory[1] ?? NaN);
  if (!(growth <= MAX_GROWTH_MB)) throw new Error(`memory grows: ${sizes}`);
  return { '': name, ...fuzzer.counts, 'memory after each round': sizes };
}
