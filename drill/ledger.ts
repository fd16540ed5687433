import type { Client } from '../test/support/client.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { History } from './history.js';
import { contentOf, LONGEST_MS, NONE, plantOf, send } from './plants.js';

/** Milliseconds of 200s only after which the service counts as recovered. */
const QUIET_MS = 700;

/** A repeated disturbance of the service or its store, and its results. */
export class Scenario {
  /** How often the service recovered. */
  times = 0;
  readonly counts = { ...NONE };
  /** The longest request, and the longest time without a 200 or the 400 of an id that is taken, in milliseconds. */
  longest = 0;
  gap = 0;
  readonly wrong: string[] = [];

  constructor(readonly name: string) {}

  /** Adds what is wrong, if anything is. */
  learn(...problems: readonly (string | undefined)[]): void {
    for (const each of problems) if (each !== undefined) this.wrong.push(`${this.name}: ${each}`);
  }
}

/** What the clients of one store were told. */
export class Ledger {
  /** Every acknowledged plant's content, and the time of its first 200: nanoseconds of CLOCK_MONOTONIC. */
  readonly acknowledged = new Map<bigint, { content: number; at: bigint }>();
  readonly history = new History();
  /** By `performance.now()`. */
  private last200 = performance.now();
  private lastOther = 0;

  /** @param scenario the one that requests count for, until `begin` */
  constructor(public scenario: Scenario) {}

  /** A disturbance begins. */
  begin(scenario: Scenario): void {
    this.scenario = scenario;
    this.last200 = performance.now();
  }

  /** Sends a plant, and notes the outcome. Returns whether it is final: the id has this content, or another. */
  async send(client: Client, id: bigint, content = 0): Promise<boolean> {
    const { scenario, acknowledged, history } = this;
    const call = process.hrtime.bigint();
    history.ids.add(id);
    const { kind, text, took } = await send(client, plantOf(id, content));
    history.end(id, content, kind, call);
    scenario.counts[kind] += 1;
    scenario.longest = Math.max(scenario.longest, took);
    if (kind === 'wrong') scenario.learn(text);
    if (took > LONGEST_MS) scenario.learn(`a request took ${took} ms`);
    const now = performance.now();
    const isFinal = kind === 'acknowledged' || kind === 'taken';
    if (isFinal) {
      scenario.gap = Math.max(scenario.gap, now - this.last200);
      this.last200 = now;
    } else this.lastOther = now;
    const first = { content, at: process.hrtime.bigint() };
    if (kind === 'acknowledged' && !acknowledged.has(id)) acknowledged.set(id, first);
    return isFinal;
  }

  /** Whether a 200 came since a time, and nothing else for a while. */
  isQuiet(since: number): boolean {
    const quiet = performance.now() - Math.max(since, this.lastOther);
    return this.last200 > since && quiet > QUIET_MS;
  }

  /** Checks that the acknowledged plants are stored, and all stored ones are as sent, though perhaps without a response. */
  async check(store: TemporaryStore): Promise<void> {
    const stored = new Map((await store.plants()).map((plant) => [plant.id, contentOf(plant)]));
    const lost = [...this.acknowledged].filter(([id, { content }]) => stored.get(id) !== content);
    const isSent = (id: bigint) => this.history.ids.has(id) && stored.get(id) !== undefined;
    const others = [...stored.keys()].filter((id) => !isSent(id));
    if (lost.length > 0) this.scenario.learn(`${lost.length} plants are lost`);
    if (others.length > 0) this.scenario.learn(`${others.length} plants that nobody sent`);
  }

  /** Checks also that each response was right when it came: the history is linearizable (needs Go). */
  async checkHistory(store: TemporaryStore): Promise<void> {
    await this.check(store);
    const call = process.hrtime.bigint();
    this.history.read(await store.plants(), call);
    this.scenario.learn(await this.history.check());
  }
}
