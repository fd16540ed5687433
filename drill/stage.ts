import { setTimeout as sleep } from 'node:timers/promises';
import { runCli } from '../test/support/cli.js';
import { Client } from '../test/support/client.js';
import { ServiceProcess, type Exit } from '../test/support/service-process.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { Ledger, type Scenario } from './ledger.js';
import { CLIENTS, Load, type LoadOptions } from './load.js';
import { race, RACE } from './report.js';

const RECOVERY_MS = 60_000;

/** The built service. It keeps its port through restarts. */
export class Service {
  port = 0;
  private process: ServiceProcess | undefined;

  /** @param token an active one of the store */
  constructor(
    readonly store: TemporaryStore,
    readonly token: string,
    private readonly env: Readonly<Record<string, string>> = {},
  ) {}

  /** Creates the store and a token. @param env further variables of the service only */
  static async over(store: TemporaryStore, env: Readonly<Record<string, string>> = {}) {
    const surroundings = { cwd: store.folder, env: { DATABASE_URL: store.url } };
    await runCli(['migrate'], surroundings);
    const { stdout, stderr } = await runCli(['token', 'create', 'drill'], surroundings);
    if (stdout === '') throw new Error(stderr);
    return new Service(store, stdout.trim(), env);
  }

  /** Starts it, again too. Resolves once it listens. */
  async start(): Promise<void> {
    const log = { LOG_LEVEL: 'info', LOG_REQUESTS: 'none' };
    const env = { NODE_ENV: 'production', PORT: String(this.port), ...log, ...this.env };
    const { store, token } = this;
    this.process = await ServiceProcess.start({ store, token, env });
    this.port = this.process.port;
  }

  /** How the last process ended; undefined while it runs. */
  get exit(): Exit | undefined {
    return this.process?.exit;
  }

  /** Ends it. Resolves once the process has exited. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.process?.signal(signal);
    await this.process?.exited;
  }

  /** Stops it for some milliseconds, and continues it. */
  async freeze(ms: number): Promise<void> {
    this.process?.signal('SIGSTOP');
    await sleep(ms);
    this.process?.signal('SIGCONT');
  }

  async restart(): Promise<void> {
    await this.end();
    await this.start();
  }

  /** A client. The caller closes it. */
  client(connections = CLIENTS): Client {
    return new Client(this.port, this.token, connections);
  }
}

/** A service under load during repeated disturbances. */
export class Stage {
  private constructor(
    readonly service: Service,
    readonly ledger: Ledger,
    private readonly load: Load,
  ) {}

  static async start(service: Service, scenario: Scenario, options: LoadOptions = {}) {
    await service.start();
    const ledger = new Ledger(scenario);
    const own = race ? RACE : options;
    return new Stage(service, ledger, new Load(service.client(own.clients), ledger, own));
  }

  /**
   * Strikes at a random moment, waits for the recovery, and sends all plants without a 200 again.
   *
   * @param strike resolves when the disturbed part is back
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

  /** @throws Error if it takes too long or the service ends */
  async until(what: string, isSo: () => boolean): Promise<void> {
    const since = performance.now();
    while (!isSo()) {
      if (this.service.exit) throw new Error(`the service ended before ${what}`);
      if (performance.now() - since > RECOVERY_MS) throw new Error(`too long until ${what}`);
      await sleep(20);
    }
  }

  /** Ends the load and checks every plant. */
  async finish(store = this.service.store): Promise<void> {
    await this.load.stop();
    const { exit } = this.service;
    await this.service.end();
    await this.ledger.check(store);
    if (exit) this.ledger.scenario.learn('the service had ended');
  }
}

/**
 * Kills the service by `kill -9` and restarts it at once, many times. The scenario learns what is wrong.
 *
 * @param inspect checks the store after each kill and at the end; returns what is wrong
 */
export async function killService(
  times: number,
  scenario: Scenario,
  store: TemporaryStore,
  options: LoadOptions = {},
  inspect: () => string | undefined = () => undefined,
): Promise<void> {
  const stage = await Stage.start(await Service.over(store), scenario, options);
  for (let i = 0; i < times; i++) {
    await stage.round(scenario, () => stage.service.restart());
    scenario.learn(inspect());
  }
  await stage.finish();
  scenario.learn(inspect());
}
