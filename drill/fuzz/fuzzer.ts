import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { residentMb } from '../../bench/machine.js';
import type { Outcome } from '../../bench/markdown.js';
import { ServiceProcess } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { LONGEST_MS } from '../ledger.js';
import { send } from '../load.js';
import { Random } from '../random.js';
import { judge, play } from './play.js';
import { writeScript, type Script } from './script.js';

const CONCURRENT_CONNECTIONS = 64;
/** A round ends after so many findings. */
const MAX_FINDINGS = 10;
/** Milliseconds until the end of the service is noticed. */
const EXIT_NOTICE_MS = 50;
/** Characters of a script, and of the log, in a finding. */
const MAX_SHOWN = 2_000;
/** Milliseconds for the service to release what its clients left behind. */
const SETTLE_TIMEOUT_MS = 30_000;
/** On SIGUSR2 the service collects its garbage, so that its memory can be compared. */
const NODE_OPTIONS = "--expose-gc --import data:text/javascript,process.on('SIGUSR2',()=>gc())";
/** Milliseconds for a collection of garbage that returns its pages. */
const COLLECTION_MS = 1_000;
/** File descriptors of SQLite's checkpointing thread, which starts with the first checkpoint and stays. */
const CHECKPOINT_FILES = 7;
/** The ids of honest creates start here. No script uses them. */
const FIRST_ID = 10n ** 15n;
/** Lines that the log must not have. Clients may fill the queue (5002), though. */
const FAULT = /^\S+ (?:ERROR|FATAL): (?!.*"error":5002\b).*$/gm;
/** Rounds of equal load. Memory may grow by so many MiB from the second, when all code is loaded, to the last. */
const [ROUNDS, MAX_GROWTH_MB] = [5, 32];

/** Fuzzes the service with raw bytes, in rounds. */
export async function fuzzBytes(seed: number, total: number, isTls: boolean): Promise<Outcome> {
  const fuzzer = await Fuzzer.start(seed, isTls);
  const { findings, creates } = fuzzer;
  const memory: number[] = [];
  let seconds = 0;
  for (let round = 0; round < ROUNDS && findings.length === 0; round++) {
    seconds += (await fuzzer.round(total / ROUNDS)) / 1_000;
    if (!fuzzer.service.exit) memory.push(Math.round(await fuzzer.measureMemory()));
  }
  await fuzzer.service.remove();
  const growth = (memory.at(-1) ?? 0) - (memory[1] ?? 0);
  if (growth > MAX_GROWTH_MB) findings.push(`memory grows: ${memory.join(', ')} MiB`);
  if (creates.longest > LONGEST_MS) findings.push(`a create took ${creates.longest} ms`);
  const { connections, answers } = fuzzer;
  const row = {
    '': isTls ? 'TLS' : 'TCP',
    connections,
    'a second': connections / seconds,
    answers,
    'creates beside': creates.answered,
    'longest, ms': creates.longest,
    'memory after each round, MiB': memory.join(', '),
  };
  return { row, wrong: findings };
}

/** Plays faulty connections to a service in its own process, and collects what is wrong. */
export class Fuzzer {
  readonly findings: string[] = [];
  /** Complete answers so far. */
  answers = 0;
  /** Honest creates at the same time, and the longest in milliseconds. */
  readonly creates = { answered: 0, longest: 0 };
  /** Connections so far. */
  connections = 0;
  /** Open files without clients, and the sockets among them. */
  private idle = { files: Infinity, sockets: Infinity };

  private constructor(
    /** It determines, with a connection's number, what the connection does. */
    private readonly seed: number,
    readonly service: ServiceProcess,
    /** The first bytes of a TLS client, if the service uses TLS. */
    private readonly clientHello: string | undefined,
  ) {}

  static async start(seed: number, isTls: boolean): Promise<Fuzzer> {
    const env = { LOG_LEVEL: 'info', LOG_REQUESTS: 'errors', NODE_OPTIONS };
    const service = await ServiceProcess.start({ store: new SqliteStore(), isTls, env });
    const fuzzer = new Fuzzer(seed, service, isTls ? await recordClientHello() : undefined);
    const { files, sockets } = fuzzer.countOpen();
    fuzzer.idle = { files: files + CHECKPOINT_FILES, sockets };
    await fuzzer.create();
    return fuzzer;
  }

  /**
   * Plays further connections beside an honest client, until all are closed.
   *
   * @returns the duration of the connections in milliseconds
   */
  async round(connections: number): Promise<number> {
    const began = performance.now();
    const end = this.connections + connections;
    const isOver = (): boolean =>
      this.connections >= end || !!this.service.exit || this.findings.length >= MAX_FINDINGS;
    const repeat = async (act: () => Promise<void>): Promise<void> => {
      while (!isOver()) await act();
    };
    const playNext = () => this.play(this.connections++);
    const players = Array.from({ length: CONCURRENT_CONNECTIONS }, () => repeat(playNext));
    await Promise.all([repeat(() => this.attempt(() => this.create())), ...players]);
    const took = performance.now() - began;
    await this.attempt(() => this.settle());
    const log = this.service.output;
    if (this.service.exit) {
      const shown = log.slice(-MAX_SHOWN);
      this.findings.push(`the service ended before connection ${this.connections}:\n${shown}`);
    }
    this.findings.push(...(log.match(FAULT) ?? []));
    return took;
  }

  /** Plays one connection, and records what is wrong with it. */
  async play(index: number): Promise<void> {
    const { port, token } = this.service;
    const target = { token, clientHello: this.clientHello };
    const script = writeScript(new Random(this.seed, index), target, index);
    await this.attempt(async () => {
      const received = await play(script, port);
      this.answers += judge(script, received).length;
    }, [index, script]);
  }

  /**
   * Resolves once all connections are closed, and no more files are open than before.
   *
   * @throws Error if that takes too long
   */
  async settle(): Promise<void> {
    const until = performance.now() + SETTLE_TIMEOUT_MS;
    for (;;) {
      const { files, sockets } = this.countOpen();
      if (files <= this.idle.files && sockets <= this.idle.sockets) return;
      if (performance.now() > until)
        throw new Error(`${sockets} sockets and ${files} files stay open`);
      await sleep(50);
    }
  }

  /** Resident memory without garbage, in MiB. */
  async measureMemory(): Promise<number> {
    for (let times = 0; times < 2; times++) {
      this.service.signal('SIGUSR2');
      await sleep(COLLECTION_MS);
    }
    return residentMb(this.service.pid);
  }

  /** Creates a plant as an honest client, on a new connection. */
  private async create(): Promise<void> {
    const client = this.service.client(1);
    const id = FIRST_ID + BigInt(this.creates.answered++);
    const { kind, text = kind, took } = await send(client, id);
    client.close();
    this.creates.longest = Math.max(this.creates.longest, took);
    if (kind !== 'acknowledged') throw new Error(`a create got ${text}`);
  }

  /** @param played the connection of the act, if it is a single one */
  private async attempt(act: () => Promise<void>, played?: [number, Script]): Promise<void> {
    try {
      await act();
    } catch (error) {
      await sleep(EXIT_NOTICE_MS);
      // One finding reports the end of the service.
      if (this.service.exit) return;
      const [index, script] = played ?? [];
      const shown = JSON.stringify({ ...script, expected: undefined }).slice(0, MAX_SHOWN);
      const where = `\nseed ${this.seed}, connection ${index}: ${shown}`;
      this.findings.push(`${String(error)}${played ? where : ''}`);
    }
  }

  private countOpen(): { files: number; sockets: number } {
    if (this.service.exit) return { files: 0, sockets: 0 };
    // Its exit status is 1 if a file is closed meanwhile.
    const { stdout } = spawnSync('ls', ['-l', `/proc/${this.service.pid}/fd`], {
      encoding: 'utf8',
    });
    return { files: stdout.split('\n').length, sockets: stdout.split(' -> socket:').length };
  }
}

async function recordClientHello(): Promise<string> {
  const [inside, outside] = duplexPair();
  const client = connectTls({ socket: inside });
  const [hello] = (await once(outside, 'data')) as [Buffer];
  client.destroy();
  return hello.toString('latin1');
}
