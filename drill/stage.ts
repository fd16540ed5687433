import { setTimeout as sleep } from 'node:timers/promises';
import type { PostgresServer } from '../test/support/postgres-server.js';
import { check } from './check.js';
import { findPlants } from './database.js';
import { Ledger } from './ledger.js';
import { Load } from './load.js';
import type { Scenario } from './scenario.js';
import { Service } from './service.js';

/** What came of scenarios over one store, and what went wrong in them. */
export interface Played {
  readonly scenarios: readonly Scenario[];
  readonly wrong: readonly string[];
}

/** A service under load, over a store that is struck again and again. */
export class Stage {
  private constructor(
    readonly service: Service,
    private readonly ledger: Ledger,
    private readonly load: Load,
  ) {}

  /** @param databaseUrl how the service reaches its store */
  static async start(databaseUrl: string, scenario: Scenario): Promise<Stage> {
    const service = new Service(databaseUrl);
    await service.start();
    const ledger = new Ledger(scenario);
    const load = new Load(service.url, await service.createToken(), ledger);
    return new Stage(service, ledger, load);
  }

  /**
   * Strikes at a random moment, waits until all is well again, and then has every plant sent once
   * more that got no 200.
   *
   * @param strike resolves when what it struck is back
   * @param store the server to look into afterwards, past the service
   */
  async round(
    scenario: Scenario,
    strike: () => Promise<void>,
    store: PostgresServer,
  ): Promise<void> {
    await sleep(300 + Math.random() * 700);
    const began = performance.now();
    const outage = this.ledger.begin(scenario);
    await strike();
    const struck = performance.now();
    await outage.over(struck, this.service);
    scenario.rounds.push({ repair: struck - began, ...outage.result });
    await this.lookForUntold(scenario, store.url());
    await this.load.repeat();
    console.log(`${scenario.name}: ${scenario.rounds.length}`);
  }

  /**
   * Ends the load, and checks every plant.
   *
   * @returns what is wrong
   */
  async finish(store: PostgresServer): Promise<string[]> {
    await this.load.stop();
    const { lives } = this.service;
    await this.service.kill();
    const wrong = [...this.ledger.wrong, ...(await check(this.ledger, store.url()))];
    return lives ? wrong : [...wrong, 'the service had ended'];
  }

  /** Counts the plants that are stored, though their clients do not know. */
  private async lookForUntold({ storedUntold }: Scenario, store: string): Promise<void> {
    const open = new Map(this.ledger.open);
    for (const id of (await findPlants(store, [...open.keys()])).keys()) {
      const how = open.get(id);
      if (how !== undefined) storedUntold[how] += 1;
    }
  }
}
