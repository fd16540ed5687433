import { setTimeout as sleep } from 'node:timers/promises';
import { startFlags } from '../bench/machine.js';
import { runCli } from '../test/support/cli.js';
import { Client } from '../test/support/client.js';
import { ServiceProcess } from '../test/support/service-process.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { Ledger, type Scenario } from './ledger.js';
import { CLIENTS, Load, type LoadOptions } from './load.js';

const RECOVERY_MS = 60_000;

/** What came of scenarios over one store, and what went wrong in them. */
export interface Played {
  readonly scenarios: readonly Scenario[];
  readonly wrong: readonly string[];
}

/** The service as it was built, on one port for all its lives. */
export class Service {
  port = 0;
  /** The exit code of the process that was started last; undefined while it lives, null after a signal. */
  exitCode: number | null | undefined;
  private process: ServiceProcess | undefined;

  /** @param token one that the store has */
  constructor(
    readonly store: TemporaryStore,
    readonly token: string,
    private readonly env: Readonly<Record<string, string>> = {},
  ) {}

  /** @param env further variables for the service, not for the commands that make the store and a token */
  static async over(store: TemporaryStore, env: Readonly<Record<string, string>> = {}) {
    const surroundings = { cwd: store.folder, env: { DATABASE_URL: store.url } };
    await runCli(['migrate'], surroundings);
    const { stdout, stderr } = await runCli(['token', 'create', 'drill'], surroundings);
    if (stdout === '') throw new Error(stderr);
    return new Service(store, stdout.trim(), env);
  }

  /** Starts it, for the first time or again; resolves once it listens. */
  async start(): Promise<void> {
    const log = { LOG_LEVEL: 'info', LOG_REQUESTS: 'none', NODE_OPTIONS: startFlags().join(' ') };
    const env = { NODE_ENV: 'production', PORT: String(this.port), ...log, ...this.env };
    const { store, token } = this;
    const started = await ServiceProcess.start({ store, token, env });
    this.exitCode = undefined;
    void started.exited.then(({ code }) => (this.exitCode = code));
    this.process = started;
    this.port = started.port;
  }

  get lives(): boolean {
    return this.process !== undefined && this.exitCode === undefined;
  }

  /** Ends it, and resolves when it is gone. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.process?.signal(signal);
    await this.process?.exited;
  }

  async restart(): Promise<void> {
    await this.end();
    await this.start();
  }

  /** A client, which the caller closes. */
  client(): Client {
    return new Client(this.port, this.token, CLIENTS);
  }
}

/** A service under load, over a store that is struck again and again. */
export class Stage {
  private constructor(
    readonly service: Service,
    readonly ledger: Ledger,
    private readonly load: Load,
  ) {}

  static async start(service: Service, scenario: Scenario, options: LoadOptions = {}) {
    await service.start();
    const ledger = new Ledger(scenario);
    return new Stage(service, ledger, new Load(service.client(), ledger, options));
  }

  /**
   * Strikes at a random moment, waits until all is well again, and then has every plant sent once
   * more that got no 200.
   *
   * @param strike resolves when what it struck is back
   */
  async round(scenario: Scenario, strike: () => Promise<void>): Promise<void> {
    await sleep(300 + Math.random() * 700);
    const began = performance.now();
    this.ledger.begin(scenario);
    await strike();
    const struck = performance.now();
    await this.until('the service recovers', () => this.ledger.isQuiet(struck));
    this.ledger.end(struck - began);
    await this.load.repeat();
    console.log(`${scenario.name}: ${scenario.rounds.length}`);
  }

  /** @throws Error where it takes too long, or the service ends */
  async until(what: string, isSo: () => boolean): Promise<void> {
    const since = performance.now();
    while (!isSo()) {
      if (!this.service.lives) throw new Error(`the service ended before ${what}`);
      if (performance.now() - since > RECOVERY_MS) throw new Error(`too long until ${what}`);
      await sleep(20);
    }
  }

  /** Ends the load, and checks every plant; returns what is wrong. */
  async finish(store = this.service.store): Promise<string[]> {
    await this.load.stop();
    const { lives } = this.service;
    await this.service.end();
    const wrong = await this.ledger.check(store);
    return lives ? wrong : [...wrong, 'the service had ended'];
  }
}

/**
 * `kill -9` of the service, which is started again at once; its store is left alone.
 *
 * @param inspect looks into the store after each time, and in the end; returns what is wrong
 */
export async function killService(
  times: number,
  scenario: Scenario,
  store: TemporaryStore,
  inspect: () => string[] = () => [],
  options: LoadOptions = {},
): Promise<string[]> {
  const stage = await Stage.start(await Service.over(store), scenario, options);
  const wrong: string[] = [];
  for (let i = 0; i < times; i++) {
    await stage.round(scenario, () => stage.service.restart());
    wrong.push(...inspect());
  }
  return [...wrong, ...(await stage.finish()), ...inspect()];
}
