import { execFile, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { ROOT, start, temporaryFolder } from '../bench/processes.js';
import { startFlags } from '../bench/store.js';

const built = (file: string): string => join(ROOT, 'dist/src', file);

/** The service as it was built, in a process of its own, on one port for all its lives. */
export class Service {
  /** Where nothing lies that would count, such as a `.env`. */
  private readonly cwd = temporaryFolder();
  private child: ChildProcess | undefined;
  private created: Promise<string> | undefined;
  url = 'http://127.0.0.1:0';

  /** @param extra variables of the environment for the service, not for its commands */
  constructor(
    private readonly databaseUrl: string,
    private readonly extra: NodeJS.ProcessEnv = {},
  ) {}

  /** Starts it, for the first time or again; resolves once it listens. */
  async start(): Promise<void> {
    const { cwd } = this;
    const own = { NODE_ENV: 'production', PORT: new URL(this.url).port };
    const env = { ...this.env, ...own, ...this.extra };
    this.child = start(undefined, process.execPath, [...startFlags(), built('main.js')], {
      cwd,
      env,
    });
    this.url = await addressIn(this.child.stdout as Readable);
  }

  /** A token, made as an operator would; the first time makes the store where there is none. */
  token(): Promise<string> {
    this.created ??= this.createToken();
    return this.created;
  }

  private async createToken(): Promise<string> {
    const args = [built('cli.js'), 'token', 'create', 'drill'];
    const { cwd, env } = this;
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env });
    return stdout.trim();
  }

  /** Whether the process lives that was started last. */
  get lives(): boolean {
    return this.child?.exitCode === null && this.child.signalCode === null;
  }

  /** The exit code of the process that was started last; null where it lives, or a signal ended it. */
  get exitCode(): number | null {
    return this.child?.exitCode ?? null;
  }

  /** Kills the process, and resolves when it is gone. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.child || !this.lives) return;
    const gone = once(this.child, 'exit');
    this.child.kill(signal);
    await gone;
  }

  private get env(): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, DATABASE_URL: this.databaseUrl, MANAGEMENT_PORT: 'off' };
  }
}

/** @throws Error where the service ends before it has told its address */
async function addressIn(output: Readable): Promise<string> {
  for await (const line of createInterface(output)) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+(?=\/plants)/.exec(line) ?? [];
    if (url === undefined) continue;
    output.resume();
    return url;
  }
  throw new Error('the service did not start');
}
