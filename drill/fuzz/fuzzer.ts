import { setTimeout as sleep } from 'node:timers/promises';
import { number } from '../../bench/markdown.js';
import { LONGEST_MS } from '../ledger.js';
import { Random } from '../random.js';
import { judge } from './judge.js';
import { play } from './play.js';
import { scriptOf, type Script } from './script.js';
import { Subject } from './subject.js';

/** Connections at once. */
const AT_ONCE = 64;
/** Findings after which a round is over. */
const ENOUGH = 10;
/** Milliseconds until it is seen that the service has ended. */
const SEEN = 50;
/** Characters of a script, and of the log, that are shown. */
const SHOWN = 2_000;

/** Rounds of equal load: what is loaded and compiled on demand is there after the first. */
const ROUNDS = 5;
/** MiB that the service may have more after the last round than after the second. */
const GROWTH_MB = 32;

/** What came of a part of the run: a row of the report, and what is wrong. */
export interface Outcome {
  readonly row: readonly string[];
  readonly wrong: readonly string[];
}

/** The head of a table of {@link fuzzBytes}. */
export const BYTES_HEAD = [
  ...['', 'connections', 'a second', 'answers', 'creates beside', 'longest, ms'],
  'memory after each round, MiB',
];

/** Fuzzes the service with raw bytes, in rounds. */
export async function fuzzBytes(seed: number, connections: number, isTls: boolean) {
  const fuzzer = await Fuzzer.start(seed, isTls);
  const { findings, creates, subject } = fuzzer;
  const memory: number[] = [];
  let seconds = 0;
  for (let round = 0; round < ROUNDS && findings.length === 0; round++) {
    seconds += (await fuzzer.round(connections / ROUNDS)) / 1_000;
    memory.push(Math.round(await subject.memory()));
  }
  await subject.service.remove();
  const grown = (memory.at(-1) ?? 0) - (memory[1] ?? 0);
  if (grown > GROWTH_MB) findings.push(`memory grows: ${memory.join(', ')} MiB`);
  if (creates.longest > LONGEST_MS) findings.push(`a create took ${creates.longest} ms`);
  const { connections: played, answers } = fuzzer;
  const numbers = [played, played / seconds, answers, creates.answered, creates.longest];
  const row = [isTls ? 'TLS' : 'TCP', ...numbers.map((n) => number(n)), memory.join(', ')];
  return { row, wrong: findings };
}

/** Does to a service what no client should do, and sees that it bears it. */
export class Fuzzer {
  readonly findings: string[] = [];
  /** Whole answers so far. */
  answers = 0;
  /** Creates beside, and the longest that one took, in milliseconds. */
  readonly creates = { answered: 0, longest: 0 };
  /** Connections so far. */
  connections = 0;

  private constructor(
    /** What a connection does depends on this and on its number. */
    private readonly seed: number,
    readonly subject: Subject,
  ) {}

  static async start(seed: number, isTls: boolean): Promise<Fuzzer> {
    return new Fuzzer(seed, await Subject.start(isTls));
  }

  /**
   * Plays the next connections, with an honest client beside them, until all are gone again.
   *
   * @returns how long they took, in milliseconds
   */
  async round(connections: number): Promise<number> {
    const began = performance.now();
    const end = this.connections + connections;
    const isOver = (): boolean =>
      this.connections >= end || this.subject.hasEnded || this.findings.length >= ENOUGH;
    const one = async (): Promise<void> => {
      while (!isOver()) await this.play(this.connections++);
    };
    const beside = async (): Promise<void> => {
      while (!isOver()) await this.create();
    };
    await Promise.all([beside(), ...Array.from({ length: AT_ONCE }, one)]);
    const took = performance.now() - began;
    await this.attempt(() => this.subject.settle());
    if (this.subject.hasEnded) {
      const log = this.subject.service.output.slice(-SHOWN);
      this.findings.push(`the service ended before connection ${this.connections}:\n${log}`);
    }
    this.findings.push(...this.subject.faults());
    return took;
  }

  /** Plays one connection, and notes what is wrong with it. */
  async play(index: number): Promise<void> {
    const script = this.scriptOf(index);
    await this.attempt(async () => {
      const received = await play(script, this.subject.service.port);
      this.answers += judge(script, received).length;
    }, index);
  }

  private async create(): Promise<void> {
    const began = performance.now();
    await this.attempt(() => this.subject.create());
    this.creates.answered += 1;
    this.creates.longest = Math.max(this.creates.longest, performance.now() - began);
  }

  /** @param index the connection that it is about, if it is one alone */
  private async attempt(act: () => Promise<void>, index?: number): Promise<void> {
    try {
      await act();
    } catch (error) {
      // Where the service has ended, one finding says so.
      await sleep(SEEN);
      if (this.subject.hasEnded) return;
      this.findings.push(`${String(error)}${index === undefined ? '' : this.describe(index)}`);
    }
  }

  private scriptOf(index: number): Script {
    const { service, clientHello } = this.subject;
    const target = { token: service.token, clientHello };
    return scriptOf(new Random(this.seed, index), target, index);
  }

  private describe(index: number): string {
    const script = JSON.stringify({ ...this.scriptOf(index), expected: undefined });
    return `\nseed ${this.seed}, connection ${index}: ${script.slice(0, SHOWN)}`;
  }
}
