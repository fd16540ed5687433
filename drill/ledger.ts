import type { StoredPlant, TemporaryStore } from '../test/support/temporary-store.js';

/** Milliseconds without trouble after which the service counts as back. */
const QUIET_MS = 700;
/** DATABASE_TIMEOUT, and what a busy machine may add, in milliseconds. */
export const LONGEST_MS = 5_000 + 500;
/** One of so many plants has a name of some 9 kB, which lies on pages of its own in SQLite. */
export const LONG = 64n;
const LONG_NAME = 700;

/** What came of a request: acknowledged, refused since the store is unavailable, broken off, never connected, or what must never come. */
export interface Answer {
  readonly kind: 'acknowledged' | 'refused' | 'unknown' | 'unreachable' | 'wrong';
  readonly text?: string;
}

/** The plant of an id. All of it follows from the id, so that no more than the id need be kept. */
export function plantOf(id: bigint): StoredPlant {
  const digits = BigInt.asUintN(64, id).toString(36);
  const name = id % LONG === 0n ? digits.repeat(LONG_NAME) : `n ${digits} 🌵`;
  return { id, name, tag: id % 5n === 0n ? null : `t'${digits}"\\` };
}

/** What is done to the service or its store, time and again, and what came of it. */
export class Scenario {
  /** Of each time: the milliseconds until what it struck was back, and the longest without a 200. */
  readonly rounds: { repair: number; without200: number }[] = [];
  readonly answers = { acknowledged: 0, refused: 0, unknown: 0, unreachable: 0, wrong: 0 };
  /** Plants that were told 200 and are not there, or are not what was sent. */
  lost = 0;
  /** The longest that a request took, in milliseconds. */
  longest = 0;

  constructor(readonly name: string) {}
}

/** What the clients of one store were told, and how long they went without a 200. */
export class Ledger {
  /** Every plant that was told 200, and when first: nanoseconds of CLOCK_MONOTONIC. */
  readonly acknowledged = new Map<bigint, { scenario: Scenario; at: bigint }>();
  /** Plants that must be sent again. */
  readonly open = new Set<bigint>();
  readonly wrong: string[] = [];
  /** Of `performance.now()`, since the last disturbance began. */
  private last200 = 0;
  private lastOther = 0;
  private gap = 0;

  /** @param scenario what the answers count for, until another takes its place */
  constructor(private scenario: Scenario) {}

  /** A disturbance begins. */
  begin(scenario: Scenario): void {
    this.scenario = scenario;
    [this.last200, this.lastOther, this.gap] = [performance.now(), 0, 0];
  }

  /** The disturbance is over. @param repair milliseconds until what it struck was back */
  end(repair: number): void {
    this.scenario.rounds.push({ repair, without200: this.gap });
  }

  /** @param took milliseconds */
  note(id: bigint, { kind, text }: Answer, took: number): void {
    const now = performance.now();
    const { scenario } = this;
    scenario.answers[kind] += 1;
    scenario.longest = Math.max(scenario.longest, took);
    if (kind === 'acknowledged') {
      const at = process.hrtime.bigint();
      if (!this.acknowledged.has(id)) this.acknowledged.set(id, { scenario, at });
      this.open.delete(id);
      this.gap = Math.max(this.gap, now - this.last200);
      this.last200 = now;
      return;
    }
    this.lastOther = now;
    if (kind === 'wrong') this.wrong.push(`${scenario.name}: ${text}`);
    if (!this.acknowledged.has(id)) this.open.add(id);
  }

  /** Whether a 200 came since a time, and nothing else for a while. */
  isQuiet(since: number): boolean {
    const quiet = performance.now() - Math.max(since, this.lastOther);
    return this.last200 > since && quiet > QUIET_MS;
  }

  /** Looks for every plant that was told 200, with all it consists of; and whether there are others. */
  async check(store: TemporaryStore): Promise<string[]> {
    const wrong = [...this.wrong];
    const stored = new Map((await store.plants()).map((plant) => [plant.id, plant]));
    const scenarios = new Set<Scenario>();
    for (const [id, { scenario }] of this.acknowledged) {
      scenarios.add(scenario);
      const [found, { name, tag }] = [stored.get(id), plantOf(id)];
      if (found?.name === name && found.tag === tag) continue;
      scenario.lost += 1;
      wrong.push(`${scenario.name}: plant ${id} is lost`);
    }
    for (const { name, longest } of scenarios) {
      if (longest > LONGEST_MS) wrong.push(`${name}: a request took ${Math.round(longest)} ms`);
    }
    // What the last clients were not told may be there as well.
    const isSent = (id: bigint) => this.acknowledged.has(id) || this.open.has(id);
    const others = [...stored.keys()].filter((id) => !isSent(id));
    return others.length > 0 ? [...wrong, `${others.length} plants that nobody sent`] : wrong;
  }
}
