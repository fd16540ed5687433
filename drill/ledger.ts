import type { StoredPlant, TemporaryStore } from '../test/support/temporary-store.js';

/** Milliseconds of 200s only after which the service counts as recovered. */
const QUIET_MS = 700;
/** The limit of a request in milliseconds: DATABASE_TIMEOUT, and the delay of a busy machine. */
export const LONGEST_MS = 5_000 + 500;
/** One of 64 plants has a name of some 9 kB, which takes its own pages in SQLite. */
export const LONG = 64n;
const LONG_NAME = 700;

/** The result of a request: 200, 503 as the store is unavailable, a broken connection, none, or an answer that must never come. */
export interface Answer {
  readonly kind: 'acknowledged' | 'refused' | 'unknown' | 'unreachable' | 'wrong';
  readonly text?: string;
  /** Milliseconds. */
  readonly took: number;
}

/** The plant of an id, computed from it, so that only the id need be kept. */
export function plantOf(id: bigint): StoredPlant {
  const digits = BigInt.asUintN(64, id).toString(36);
  const name = id % LONG === 0n ? digits.repeat(LONG_NAME) : `n ${digits} 🌵`;
  return { id, name, tag: id % 5n === 0n ? null : `t'${digits}"\\` };
}

function isIntact({ id, name, tag }: StoredPlant): boolean {
  const plant = plantOf(id);
  return name === plant.name && tag === plant.tag;
}

/** A repeated disturbance of the service or its store, and its results. */
export class Scenario {
  /** For each time, in milliseconds: until the disturbed part was back, and the longest gap without a 200. */
  readonly rounds: { repair: number; without200: number }[] = [];
  readonly answers = { acknowledged: 0, refused: 0, unknown: 0, unreachable: 0, wrong: 0 };
  /** Plants answered with 200 that are missing or different. */
  lost = 0;
  /** The longest request in milliseconds. */
  longest = 0;
  readonly wrong: string[] = [];

  constructor(readonly name: string) {}
}

/** The answers to the clients of one store, and the gaps without a 200. */
export class Ledger {
  /** Every plant answered with 200, and the time of its first: nanoseconds of CLOCK_MONOTONIC. */
  readonly acknowledged = new Map<bigint, { scenario: Scenario; at: bigint }>();
  /** Plants to send again. */
  readonly open = new Set<bigint>();
  readonly wrong: string[] = [];
  /** By `performance.now()`, since the last disturbance began. */
  private last200 = 0;
  private lastOther = 0;
  private gap = 0;

  /** @param scenario the one that the answers count for, until `begin` */
  constructor(private scenario: Scenario) {}

  /** A disturbance begins. */
  begin(scenario: Scenario): void {
    this.scenario = scenario;
    [this.last200, this.lastOther, this.gap] = [performance.now(), 0, 0];
  }

  /** The disturbance is over. @param repair milliseconds until the disturbed part was back */
  end(repair: number): void {
    this.scenario.rounds.push({ repair, without200: this.gap });
  }

  record(id: bigint, { kind, text, took }: Answer): void {
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

  /** Checks that the acknowledged plants are stored, and all stored ones are as sent. Returns what is wrong. */
  async check(store: TemporaryStore): Promise<string[]> {
    const wrong = [...this.wrong];
    const stored = new Map((await store.plants()).map((plant) => [plant.id, plant]));
    const scenarios = new Set<Scenario>();
    for (const [id, { scenario }] of this.acknowledged) {
      scenarios.add(scenario);
      const found = stored.get(id);
      if (found && isIntact(found)) continue;
      scenario.lost += 1;
      wrong.push(`${scenario.name}: plant ${id} is lost`);
    }
    for (const { name, longest } of scenarios) {
      if (longest > LONGEST_MS) wrong.push(`${name}: a request took ${Math.round(longest)} ms`);
    }
    // Plants without an answer may be stored as well.
    const isSent = (id: bigint) => this.acknowledged.has(id) || this.open.has(id);
    const others = [...stored.values()].filter((plant) => !isSent(plant.id) || !isIntact(plant));
    return others.length > 0 ? [...wrong, `${others.length} plants that nobody sent`] : wrong;
  }
}
