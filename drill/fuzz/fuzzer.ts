import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { residentMb } from '../../bench/machine.js';
import { ServiceProcess } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { LONGEST_MS, plantOf, send } from '../plants.js';
import { judge, play } from './play.js';
import { REFUSED, scripts, type Script } from './raw-requests.js';

/** Connections at the same time, at most: fast-check draws every number up to it. */
const MAX_CONCURRENT = 64;
/** Milliseconds for the service to release what its clients left behind: twice what they have to read a response. */
const SETTLE_TIMEOUT_MS = 160_000;
/** Milliseconds until the end of the service is noticed. */
const EXIT_NOTICE_MS = 100;
/** On SIGUSR2 the service collects its garbage, so that its memory can be compared. */
const NODE_OPTIONS = "--expose-gc --import data:text/javascript,process.on('SIGUSR2',()=>gc())";
/** Milliseconds for a collection of garbage that returns its pages. */
const COLLECTION_MS = 1_000;
/** File descriptors of SQLite's threads, which start with the first commit and the first checkpoint, and stay. */
const THREADS_FILES = 2 * 7;
/** The ids of honest creates start here. No script uses them. */
const FIRST_ID = 10n ** 15n;
/** Lines that the log must not have, Node's warnings among them. Clients may fill the queue (5002), though. */
const FAULT = /^(?:\S+ (?:ERROR|FATAL): (?!.*"error":5002\b)|\(node:\d+\) ).*$/m;

/** Plays faulty connections to a service in its own process, beside an honest client. */
export class Fuzzer {
  /** Connections, their complete responses, and honest creates, so far. */
  readonly counts = { connections: 0, responses: 0, creates: 0, longestMs: 0 };
  /** Open files without clients, at most. */
  private readonly idleFiles: number;
  /** Characters of the log that were read. */
  private read = 0;

  private constructor(
    private readonly isTls: boolean,
    private readonly service: ServiceProcess,
  ) {
    this.idleFiles = this.countFiles() + THREADS_FILES;
  }

  static async start(isTls: boolean): Promise<Fuzzer> {
    const env = { LOG_LEVEL: 'info', LOG_REQUESTS: 'errors', NODE_OPTIONS };
    const service = await ServiceProcess.start({ store: new SqliteStore(), isTls, env });
    return new Fuzzer(isTls, service);
  }

  /**
   * Checks many runs of scripts at the same time. The same seed makes the same scripts.
   *
   * @param connections on average
   * @param limitMs milliseconds, with those in which a failure is made smaller
   * @throws Error with the seed and the scripts of the smallest failure, or if files stay open
   */
  async check(seed: number, connections: number, limitMs: number): Promise<void> {
    const { store, token } = this.service;
    const one = scripts(token, this.isTls);
    const list = fc.array(one, { minLength: 1, maxLength: MAX_CONCURRENT, size: 'max' });
    await fc.assert(
      fc.asyncProperty(list, (all) => this.run(all)),
      {
        seed,
        numRuns: Math.ceil(connections / (MAX_CONCURRENT / 2)),
        interruptAfterTimeLimit: limitMs,
        markInterruptAsFailure: true,
      },
    );
    // Not after each run: a client that leaves without reading is noticed late.
    const until = performance.now() + SETTLE_TIMEOUT_MS;
    while (this.countFiles() > this.idleFiles) {
      if (performance.now() > until) throw new Error(`${this.countFiles()} files stay open`);
      await sleep(20);
    }
    const stored = await store.rows(`SELECT id FROM plants WHERE name = '${REFUSED}'`);
    if (stored.length > 0) throw new Error('plants of refused requests are stored');
  }

  /** Resident memory without garbage, in MiB. */
  async measureMemory(): Promise<number> {
    for (let times = 0; times < 2; times++) {
      this.service.signal('SIGUSR2');
      await sleep(COLLECTION_MS);
    }
    return Math.round(residentMb(this.service.pid));
  }

  /** @throws Error if requests are left in progress: a stop would wait for them */
  async stop(): Promise<void> {
    this.service.signal('SIGTERM');
    const { code } = await this.service.exited;
    await this.service.remove();
    if (code !== 0) throw new Error(`the service stopped with ${code}: ${this.service.output}`);
  }

  /** @throws Error if a response, a create afterwards, or the service's log is not as it must be */
  private async run(all: readonly Script[]): Promise<void> {
    const { service } = this;
    // No fewer scripts would show why it ended.
    const hasEnded = () => service.exit !== undefined;
    fc.pre(!hasEnded());
    const playAndJudge = async (script: Script): Promise<void> => {
      this.counts.connections += 1;
      const received = await play(script, service.port);
      this.counts.responses += judge(script, received);
    };
    const results = await Promise.allSettled([this.create(), ...all.map(playAndJudge)]);
    results.push(...(await Promise.allSettled([this.create()])));
    const failed = results.find(({ status }) => status === 'rejected');
    if (failed) await sleep(EXIT_NOTICE_MS);
    const log = service.output.slice(this.read);
    this.read += log.lastIndexOf('\n') + 1;
    if (hasEnded()) throw new Error(`the service ended: ${log}`);
    const [fault] = FAULT.exec(log) ?? [];
    if (fault !== undefined) throw new Error(fault);
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /** Creates a plant as an honest client, on a new connection. */
  private async create(): Promise<void> {
    const client = this.service.client(1);
    const id = FIRST_ID + BigInt(this.counts.creates++);
    const { kind, text, took } = await send(client, plantOf(id));
    client.close();
    this.counts.longestMs = Math.max(this.counts.longestMs, took);
    if (kind !== 'acknowledged') throw new Error(`a create got ${text}`);
    if (took > LONGEST_MS) throw new Error(`a create took ${took} ms`);
  }

  /** Files that the service has open, sockets among them. */
  private countFiles(): number {
    return readdirSync(`/proc/${this.service.pid}/fd`).length;
  }
}
