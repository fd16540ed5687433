import { setTimeout as sleep } from 'node:timers/promises';
import { runCli } from '../test/support/cli.js';
import { Client } from '../test/support/client.js';
import type { Monitor } from '../test/support/monitor.js';
import { ServiceProcess, type Exit, type Start } from '../test/support/service-process.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { Ledger, type Scenario } from './ledger.js';
import { CLIENTS, Load, type LoadOptions } from './load.js';

const RECOVERY_MS = 60_000;

/** What a start of the service may have: variables, and a command that starts it. */
type ServiceOptions = Pick<Start, 'env' | 'under'>;

/** Runs a command on a store. @returns what it prints @throws Error unless it succeeds */
export async function runOn({ folder, url }: TemporaryStore, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, { cwd: folder, env: { DATABASE_URL: url } });
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** The built service. It keeps its port through restarts. */
export class Service {
  /** 0 before the first start. */
  port = 0;
  private process: ServiceProcess | undefined;

  /** @param token an active one of the store */
  constructor(
    readonly store: TemporaryStore,
    readonly token: string,
    private readonly options: ServiceOptions = {},
  ) {}

  /** Creates the store and a token. */
  static async over(store: TemporaryStore, options: ServiceOptions = {}) {
    await runOn(store, 'migrate');
    const token = await runOn(store, 'token', 'create', 'drill');
    return new Service(store, token.trim(), options);
  }

  /** Starts it, again too. Resolves once it listens. */
  async start(): Promise<void> {
    const log = { LOG_LEVEL: 'info', LOG_REQUESTS: 'none' };
    const env = { NODE_ENV: 'production', PORT: String(this.port), ...log, ...this.options.env };
    const { store, token } = this;
    this.process = await ServiceProcess.start({ ...this.options, store, token, env });
    this.port = this.process.port;
  }

  /** How the last process ended; undefined while it runs. */
  get exit(): Exit | undefined {
    return this.process?.exit;
  }

  /** Its management port's, if `MANAGEMENT_PORT` is set. */
  get monitor(): Monitor | undefined {
    return this.process?.monitor;
  }

  /** The errors in its log, such as why the store is unavailable. */
  get errors(): string[] {
    const lines = this.process?.output.split('\n') ?? [];
    return lines.filter((line) => line.includes('"level":"error"'));
  }

  get lastError(): string {
    return this.errors.at(-1) ?? '';
  }

  signal(signal: NodeJS.Signals): void {
    this.process?.signal(signal);
  }

  /** Ends it. Resolves once the process has exited. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.signal(signal);
    await this.process?.exited;
  }

  async restart(signal?: NodeJS.Signals): Promise<void> {
    await this.end(signal);
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
    return new Stage(service, ledger, new Load(service.client(options.clients), ledger, options));
  }

  /**
   * Strikes at a random moment, and waits for the recovery.
   *
   * @param strike resolves when the disturbed part is back
   */
  async round(scenario: Scenario, strike: (stage: Stage) => Promise<void>): Promise<void> {
    await sleep(300 + Math.random() * 700);
    this.ledger.begin(scenario);
    await strike(this);
    const struck = performance.now();
    await this.until('the service recovers', () => this.ledger.isQuiet(struck));
    scenario.times += 1;
    console.log(`${scenario.name}: ${scenario.times}`);
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

  /** Ends the load and the service, and checks nothing. */
  async abandon(): Promise<void> {
    await this.load.stop();
    await this.service.end();
  }

  /** Ends the load, and checks every plant and response. */
  async finish(store = this.service.store): Promise<void> {
    await this.load.stop();
    const { exit } = this.service;
    await this.service.end();
    await this.ledger.checkHistory(store);
    if (exit) this.ledger.scenario.learn('the service had ended');
  }
}

/** Strikes a new service on a new store several times. Returns the scenario, which learns what is wrong. */
export async function disturb(
  scenario: Scenario,
  times: number,
  store: TemporaryStore,
  strike: (stage: Stage) => Promise<void>,
  options: LoadOptions & ServiceOptions = {},
): Promise<Scenario[]> {
  const stage = await Stage.start(await Service.over(store, options), scenario, options);
  for (let i = 0; i < times; i++) await stage.round(scenario, strike);
  await stage.finish();
  return [scenario];
}
