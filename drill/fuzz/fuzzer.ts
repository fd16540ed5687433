import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { residentMb } from '../../bench/machine.js';
import { ServiceProcess } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import type { TemporaryStore } from '../../test/support/temporary-store.js';
import { LONGEST_MS, plantOf, send } from '../plants.js';
import { judge, play } from './play.js';
import { scripts, type Script } from './raw-requests.js';
import { REFUSED } from './valid-requests.js';

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
/** File descriptors of SQLite's checkpointing thread, which starts with the first checkpoint and stays. */
const CHECKPOINT_FILES = 7;
/** The ids of honest creates start here. No script uses them. */
const FIRST_ID = 10n ** 15n;
/** Lines that the log must not have, Node's warnings among them. Clients may fill the queue (5002), though. */
const FAULT = /^(?:\S+ (?:ERROR|FATAL): (?!.*"error":5002\b)|\(node:\d+\) ).*$/m;

/** Plays faulty connections to a service in its own process, beside an honest client. */
export class Fuzzer {
  /** Connections, their complete responses, and honest creates, so far. */
  readonly counts = { connections: 0, responses: 0, creates: 0, longestMs: 0 };
  private service!: ServiceProcess;
  /** Open files without clients, at most. */
  private idleFiles = Infinity;
  /** Characters of the log that were read. */
  private read = 0;

  private constructor(private readonly isTls: boolean) {}

  static async start(isTls: boolean): Promise<Fuzzer> {
    const fuzzer = new Fuzzer(isTls);
    await fuzzer.startService(new SqliteStore());
    return fuzzer;
  }

  /**
   * Checks many runs of scripts at the same time. The same seed makes the same scripts.
   *
   * @param connections on average
   * @param limitMs milliseconds, with those in which a failure is made smaller
   * @throws Error with the seed and the scripts of the smallest failure, or if files stay open
   */
  async check(seed: number, connections: number, limitMs: number): Promise<void> {
    const one = scripts(this.service.token, this.isTls);
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
    await this.settle();
    const stored = await this.service.store.rows(`SELECT id FROM plants WHERE name = '${REFUSED}'`);
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
    // With the same tokens, so that a failure that ended it can be made smaller.
    const { exit, store, token } = this.service;
    if (exit) await this.startService(store, token);
    const playAndJudge = async (script: Script): Promise<void> => {
      this.counts.connections += 1;
      const received = await play(script, this.service.port);
      this.counts.responses += judge(script, received);
    };
    const results = await Promise.allSettled([this.create(), ...all.map(playAndJudge)]);
    results.push(...(await Promise.allSettled([this.create()])));
    const failed = results.find(({ status }) => status === 'rejected');
    if (failed) await sleep(EXIT_NOTICE_MS);
    const log = this.service.output.slice(this.read);
    this.read += log.lastIndexOf('\n') + 1;
    if (this.service.exit) throw new Error(`the service ended: ${log}`);
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

  /** Resolves once no more files are open than without clients. */
  private async settle(): Promise<void> {
    const until = performance.now() + SETTLE_TIMEOUT_MS;
    while (this.countFiles() > this.idleFiles) {
      if (performance.now() > until) throw new Error(`${this.countFiles()} files stay open`);
      await sleep(20);
    }
  }

  private async startService(store: TemporaryStore, token?: string): Promise<void> {
    const env = { LOG_LEVEL: 'info', LOG_REQUESTS: 'errors', NODE_OPTIONS };
    const { isTls } = this;
    this.service = await ServiceProcess.start({ store, ...(token && { token }), isTls, env });
    this.read = 0;
    this.idleFiles = this.countFiles() + CHECKPOINT_FILES;
    await this.create();
  }

  /** Files that the service has open, sockets among them. */
  private countFiles(): number {
    return readdirSync(`/proc/${this.service.pid}/fd`).length;
  }
}
