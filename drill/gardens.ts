import { setTimeout as sleep } from 'node:timers/promises';
import { GuidedCopy } from '../test/support/guides.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { Scenario } from './ledger.js';
import type { Outcome } from './plants.js';
import { Service, Stage } from './stage.js';

/** Clients that create gardens, beside those of plants, and the longest pause of each in milliseconds. */
const [CLIENTS, PAUSE_MS] = [8, 100];

/** A garden, computed from its id, so that only this need be kept. */
const gardenOf = (id: number) => ({ id, name: `garden ${id}`, isOpen: id % 2 === 0 });

/**
 * Strikes a service that has gardens too, the second resource of CONTRIBUTING.md, which a repository writes. Each
 * acknowledged one must be stored.
 */
export async function strikeGardens(
  name: string,
  times: number,
  store: TemporaryStore,
  strike: (stage: Stage) => Promise<void>,
): Promise<Scenario[]> {
  const built = GuidedCopy.withGardens();
  const plants = new Scenario(`${name}, with a second resource`);
  const gardens = new Scenario(`${name}: the second resource`);
  const service = await Service.over(store, { under: built.under });
  const stage = await Stage.start(service, plants);
  const load = new GardenLoad(service, gardens);
  for (; gardens.times < times; gardens.times++) await stage.round(plants, strike);
  await load.stop();
  await stage.finish();
  await load.check(store);
  built.remove();
  return [plants, gardens];
}

/** Clients that create one garden after another, and send each until it is acknowledged. */
class GardenLoad {
  private isRunning = true;
  private newest = 0;
  private last200 = performance.now();
  private readonly acknowledged: number[] = [];
  private readonly clients: Promise<unknown>;

  constructor(
    private readonly service: Service,
    private readonly scenario: Scenario,
  ) {
    this.clients = Promise.all(Array.from({ length: CLIENTS }, () => this.run()));
  }

  async stop(): Promise<void> {
    this.isRunning = false;
    await this.clients;
  }

  async check(store: TemporaryStore): Promise<void> {
    type Row = { id: bigint; name: string; isOpen: bigint | boolean };
    const rows = await store.rows<Row>('SELECT id, name, is_open AS "isOpen" FROM gardens');
    const stored = new Map(rows.map((row) => [Number(row.id), row]));
    const lost = this.acknowledged.filter((id) => {
      const { name, isOpen } = gardenOf(id);
      const found = stored.get(id);
      return found?.name !== name || Boolean(found.isOpen) !== isOpen;
    });
    if (lost.length > 0) this.scenario.learn(`${lost.length} gardens are lost`);
    if (this.acknowledged.length === 0) this.scenario.learn('no garden was acknowledged');
  }

  private async run(): Promise<void> {
    for (let id = ++this.newest; this.isRunning;) {
      const kind = await this.create(id);
      this.scenario.counts[kind] += 1;
      if (kind === 'acknowledged') {
        const now = performance.now();
        this.scenario.gap = Math.max(this.scenario.gap, now - this.last200);
        this.last200 = now;
        this.acknowledged.push(id);
        id = ++this.newest;
      }
      await sleep(Math.random() * PAUSE_MS);
    }
  }

  private async create(id: number): Promise<Outcome> {
    const { scenario, service } = this;
    const body = JSON.stringify(gardenOf(id));
    const headers = {
      authorization: `Bearer ${service.token}`,
      'content-type': 'application/json',
    };
    const sent = performance.now();
    try {
      const url = `http://127.0.0.1:${service.port}/gardens`;
      const response = await fetch(url, { method: 'POST', headers, body });
      const text = await response.text();
      if (response.status === 200 && text === body) return 'acknowledged';
      if (response.status === 503) return 'refused';
      scenario.learn(`a garden got ${response.status} ${text}`);
      return 'wrong';
    } catch (error) {
      const { code } = Object((error as Error).cause) as { code?: string };
      return code === 'ECONNREFUSED' ? 'unreachable' : 'unknown';
    } finally {
      scenario.longest = Math.max(scenario.longest, performance.now() - sent);
    }
  }
}
