import { isDeepStrictEqual } from 'node:util';
import type { Client } from '../test/support/client.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { History } from './history.js';
import { LONGEST_MS, plantOf, send, type Outcome } from './plants.js';

/** Milliseconds of 200s only after which the service counts as recovered. */
const QUIET_MS = 700;

/** A repeated disturbance of the service or its store, and its results. */
export class Scenario {
  /** For each time, in milliseconds: until the disturbed part was back, and the longest gap without a 200. */
  readonly rounds: { repair: number; without200: number }[] = [];
  readonly counts: Record<Outcome, number> = {
    acknowledged: 0,
    taken: 0,
    refused: 0,
    unknown: 0,
    unreachable: 0,
    wrong: 0,
  };
  /** Acknowledged plants that are missing or different. */
  lost = 0;
  /** The longest request in milliseconds. */
  longest = 0;
  readonly wrong: string[] = [];

  constructor(readonly name: string) {}

  /** Adds what is wrong, if anything is. */
  learn(...problems: readonly (string | undefined)[]): void {
    for (const each of problems) if (each !== undefined) this.wrong.push(`${this.name}: ${each}`);
  }
}

/** What the clients of one store were told, and the gaps without a 200. */
export class Ledger {
  /** Every acknowledged plant, and the time of its first 200: nanoseconds of CLOCK_MONOTONIC. */
  readonly acknowledged = new Map<bigint, { scenario: Scenario; at: bigint }>();
  /** Plants to send again. */
  readonly open = new Set<bigint>();
  readonly history = new History();
  /** By `performance.now()`, since the last disturbance began. */
  private last200 = 0;
  private lastOther = 0;
  private gap = 0;

  /** @param scenario the one that requests count for, until `begin` */
  constructor(public scenario: Scenario) {}

  /** A disturbance begins. */
  begin(scenario: Scenario): void {
    this.scenario = scenario;
    [this.last200, this.lastOther, this.gap] = [performance.now(), 0, 0];
  }

  /** The disturbance is over. @param repair milliseconds until the disturbed part was back */
  end(repair: number): void {
    this.scenario.rounds.push({ repair, without200: this.gap });
  }

  /** Sends the plant of an id, and notes the outcome. Returns whether it was acknowledged. */
  async send(client: Client, id: bigint): Promise<boolean> {
    const { acknowledged } = this;
    const { kind, text } = this.note(await send(client, id));
    if (kind === 'taken') this.scenario.learn(text);
    if (kind !== 'acknowledged') {
      if (!acknowledged.has(id)) this.open.add(id);
      return false;
    }
    const first = { scenario: this.scenario, at: process.hrtime.bigint() };
    if (!acknowledged.has(id)) acknowledged.set(id, first);
    this.open.delete(id);
    return true;
  }

  /** Sends one of the contents that race for an id. Returns whether the response is final. */
  async race(client: Client, id: bigint, name: string): Promise<boolean> {
    const end = this.history.begin(id, name);
    const { kind } = this.note(await send(client, id, { name }));
    end(kind);
    return kind === 'acknowledged' || kind === 'taken';
  }

  private note<Result extends Awaited<ReturnType<typeof send>>>(result: Result): Result {
    const { kind, text, took } = result;
    const { scenario } = this;
    const now = performance.now();
    scenario.counts[kind] += 1;
    scenario.longest = Math.max(scenario.longest, took);
    if (kind === 'wrong') scenario.learn(text);
    if (took > LONGEST_MS) scenario.learn(`a request took ${took} ms`);
    if (kind === 'acknowledged' || kind === 'taken') {
      this.gap = Math.max(this.gap, now - this.last200);
      this.last200 = now;
    } else this.lastOther = now;
    return result;
  }

  /** Whether a 200 came since a time, and nothing else for a while. */
  isQuiet(since: number): boolean {
    const quiet = performance.now() - Math.max(since, this.lastOther);
    return this.last200 > since && quiet > QUIET_MS;
  }

  /** Checks that the acknowledged plants are stored, and all stored ones are as sent. The scenarios learn what is wrong. */
  async check(store: TemporaryStore): Promise<void> {
    if (this.history.length > 0) {
      this.scenario.learn(await this.history.check(await store.plants()));
      return;
    }
    const stored = new Map((await store.plants()).map((plant) => [plant.id, plant]));
    const isIntact = (id: bigint) => isDeepStrictEqual({ ...stored.get(id) }, plantOf(id));
    for (const [id, { scenario }] of this.acknowledged) {
      if (isIntact(id)) continue;
      scenario.lost += 1;
      scenario.learn(`plant ${id} is lost`);
    }
    // Plants without a response may be stored as well.
    const isSent = (id: bigint) => this.acknowledged.has(id) || this.open.has(id);
    const others = [...stored.keys()].filter((id) => !isSent(id) || !isIntact(id));
    if (others.length > 0) this.scenario.learn(`${others.length} plants that nobody sent`);
  }
}
