import { number } from '../../bench/markdown.js';
import { Fuzzer } from './fuzzer.js';

/** Rounds of equal load: what is loaded and compiled on demand is there after the first. */
const ROUNDS = 5;
/** MiB that the service may have more after the last round than after the second. */
const GROWTH = 32;
/** Milliseconds that a create may take: DATABASE_TIMEOUT, and what a busy machine adds. */
const LONGEST = 5_000 + 500;

/** What came of a part of the run: a row of the report, and what is wrong. */
export interface Outcome {
  readonly row: readonly string[];
  readonly wrong: readonly string[];
}

export const BYTES_HEAD = [
  ...['', 'connections', 'a second', 'answers', '200', '400', '401', '404', '405', '503'],
  ...['creates beside', 'longest, ms', 'memory after each round, MiB'],
];

/** Fuzzes the service with raw bytes, in rounds. */
export async function fuzzBytes(
  seed: number,
  connections: number,
  isTls: boolean,
): Promise<Outcome> {
  const fuzzer = await Fuzzer.start(seed, isTls);
  const { findings, statuses, creates, subject } = fuzzer;
  const memory: number[] = [];
  let took = 0;
  for (let round = 0; round < ROUNDS && findings.length === 0; round++) {
    took += await fuzzer.round(connections / ROUNDS);
    memory.push(Math.round(await subject.memory()));
  }
  await subject.service.remove();
  const grown = (memory.at(-1) ?? 0) - (memory[1] ?? 0);
  if (grown > GROWTH) findings.push(`memory grows: ${memory.join(', ')} MiB`);
  if (creates.longest > LONGEST) findings.push(`a create took ${creates.longest} ms`);
  const answers = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  const count = (status: number): string => number(statuses[status] ?? 0, 0);
  const row = [
    isTls ? 'TLS' : 'TCP',
    number(fuzzer.connections, 0),
    number((fuzzer.connections / took) * 1_000, 0),
    number(answers, 0),
    ...[200, 400, 401, 404, 405, 503].map(count),
    number(creates.answered, 0),
    number(creates.longest, 0),
    memory.join(', '),
  ];
  return { row, wrong: findings };
}
