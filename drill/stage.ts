import { setTimeout as sleep } from 'node:timers/promises';
import { check } from './check.js';
import { findPlants } from './store.js';
import { Ledger } from './ledger.js';
import { Load, type LoadOptions } from './load.js';
import type { Scenario } from './scenario.js';
import type { Service } from './service.js';

/** What came of scenarios over one store, and what went wrong in them. */
export interface Played {
  readonly scenarios: readonly Scenario[];
  readonly wrong: readonly string[];
}

/** A service under load, over a store that is struck again and again. */
export class Stage {
  private constructor(
    readonly service: Service,
    readonly ledger: Ledger,
    private readonly load: Load,
  ) {}

  static async start(
    service: Service,
    scenario: Scenario,
    options: LoadOptions = {},
  ): Promise<Stage> {
    const token = await service.token();
    await service.start();
    const ledger = new Ledger(scenario);
    const load = new Load(service.url, token, ledger, options);
    return new Stage(service, ledger, load);
  }

  /**
   * Strikes at a random moment, waits until all is well again, and then has every plant sent once
   * more that got no 200.
   *
   * @param strike resolves when what it struck is back
   * @param store the address of the store to look into afterwards, past the service
   */
  async round(scenario: Scenario, strike: () => Promise<void>, store: string): Promise<void> {
    await sleep(300 + Math.random() * 700);
    const began = performance.now();
    const outage = this.ledger.begin(scenario);
    await strike();
    const struck = performance.now();
    await outage.over(struck, this.service);
    scenario.rounds.push({ repair: struck - began, ...outage.result });
    await this.lookForUntold(scenario, store);
    await this.load.repeat();
    console.log(`${scenario.name}: ${scenario.rounds.length}`);
  }

  /**
   * Ends the load, and checks every plant.
   *
   * @returns what is wrong
   */
  async finish(store: string): Promise<string[]> {
    await this.load.stop();
    const { lives } = this.service;
    await this.service.kill();
    const wrong = [...this.ledger.wrong, ...(await check(this.ledger, store))];
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
