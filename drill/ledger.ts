import type { StoredPlant, TemporaryStore } from '../test/support/temporary-store.js';
import { plantOf, type Answer } from './load.js';

/** Milliseconds without trouble after which the service counts as back. */
const QUIET_MS = 700;
/** DATABASE_TIMEOUT, and what a busy machine may add, in milliseconds. */
const LONGEST_MS = 5_000 + 500;

/** How a plant can be left without a 200. */
type Untold = 'refused' | 'unknown' | 'unreachable';

/** What is done to the service or its store, time and again, and what came of it. */
export class Scenario {
  /** Of each time: the milliseconds until what it struck was back, the longest without a 200, and from the first other answer to the last. */
  readonly rounds: { repair: number; without200: number; span: number }[] = [];
  readonly answers = { acknowledged: 0, refused: 0, unknown: 0, unreachable: 0, wrong: 0 };
  /** Of the plants that got no 200 at first: those that were stored all the same. */
  readonly stored = { refused: 0, unknown: 0, unreachable: 0 };
  /** The numbers of the errors that came with 503. */
  readonly errors = new Set<number>();
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
  readonly open = new Map<bigint, Untold>();
  readonly wrong: string[] = [];
  /** Of `performance.now()`, since the last disturbance began. */
  private last200 = 0;
  private gap = 0;
  private firstOther: number | undefined;
  private lastOther = 0;

  /** @param scenario what the answers count for, until another takes its place */
  constructor(private scenario: Scenario) {}

  /** A disturbance begins. */
  begin(scenario: Scenario): void {
    this.scenario = scenario;
    [this.last200, this.gap, this.firstOther, this.lastOther] = [
      performance.now(),
      0,
      undefined,
      0,
    ];
  }

  /** @param took milliseconds */
  note(id: bigint, { kind, error, text }: Answer, took: number): void {
    const now = performance.now();
    this.scenario.answers[kind] += 1;
    this.scenario.longest = Math.max(this.scenario.longest, took);
    if (kind === 'acknowledged') {
      const at = process.hrtime.bigint();
      if (!this.acknowledged.has(id)) this.acknowledged.set(id, { scenario: this.scenario, at });
      this.open.delete(id);
      this.gap = Math.max(this.gap, now - this.last200);
      this.last200 = now;
      return;
    }
    this.firstOther ??= now;
    this.lastOther = now;
    if (error !== undefined) this.scenario.errors.add(error);
    if (kind === 'wrong') this.wrong.push(`${this.scenario.name}: ${text}`);
    else if (!this.acknowledged.has(id)) this.open.set(id, kind);
  }

  /** Whether a 200 came since a time, and nothing else for a while. */
  isQuiet(since: number): boolean {
    const quiet = performance.now() - Math.max(since, this.lastOther);
    return this.last200 > since && quiet > QUIET_MS;
  }

  /** The disturbance is over, and its plants are not sent again yet. */
  async end(repair: number, store: TemporaryStore): Promise<void> {
    const span = this.lastOther - (this.firstOther ?? this.lastOther);
    this.scenario.rounds.push({ repair, without200: this.gap, span });
    const open = new Map(this.open);
    if (open.size === 0) return;
    const ids = [...open.keys()].join();
    const sql = `SELECT id FROM plants WHERE id IN (${ids})`;
    for (const { id } of await store.rows<{ id: bigint }>(sql)) {
      this.scenario.stored[open.get(id) ?? 'unknown'] += 1;
    }
  }

  /** Looks for every plant that was told 200, with all it consists of; and whether there are others. */
  async check(store: TemporaryStore): Promise<string[]> {
    const wrong = [...this.wrong];
    const stored = new Map((await store.plants()).map((plant) => [plant.id, plant]));
    const scenarios = new Set<Scenario>();
    for (const [id, { scenario }] of this.acknowledged) {
      scenarios.add(scenario);
      if (isSame(stored.get(id), plantOf(id))) continue;
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

function isSame(found: StoredPlant | undefined, { name, tag }: StoredPlant): boolean {
  return found?.name === name && found.tag === tag;
}
