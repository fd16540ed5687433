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
  /** How long each change of the store was not noticed: milliseconds until the first 503. */
  readonly unnoticed: number[] = [];
  /** The plants that were acknowledged meanwhile, and that the change took back. */
  takenBack = 0;

  constructor(readonly name: string) {}

  /** Adds what is wrong, if anything is. */
  learn(...problems: readonly (string | undefined)[]): void {
    for (const each of problems) if (each !== undefined) this.wrong.push(`${this.name}: ${each}`);
  }
}

/** A plant that was acknowledged, and when first: nanoseconds of CLOCK_MONOTONIC. */
interface Acknowledged {
  readonly content: number;
  readonly at: bigint;
  readonly scenario: Scenario;
}

/** An operator's change of the store. Times: nanoseconds of CLOCK_MONOTONIC. */
interface Change {
  /** Whether it takes back what is acknowledged before it is noticed. */
  readonly takesBack: boolean;
  madeAt?: bigint;
  /** The first 503 behind it. */
  refusedAt?: bigint;
  /** Whether every request sent after the first 503 must get one, until this is false again. */
  refusesAll?: boolean;
  /** How many did not. */
  notRefused: number;
}

/** What the clients of one store were told. */
export class Ledger {
  readonly acknowledged = new Map<bigint, Acknowledged>();
  /** Acknowledged while an operator's change was not noticed that may take them back. */
  private readonly doubtful = new Map<bigint, Acknowledged>();
  private change: Change = { takesBack: false, notRefused: 0 };
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

  /** An operator begins to change the store. @param takesBack what is acknowledged until the first 503 */
  beginChange(takesBack: boolean): void {
    this.change = { takesBack, notRefused: 0 };
  }

  /** The change is made. */
  endChange(): void {
    this.change.madeAt = process.hrtime.bigint();
  }

  /** The change is made, and from the first 503 until {@link allow} there must be no other response. */
  forbid(): void {
    this.endChange();
    this.change.refusesAll = true;
  }

  /** What refuses every request is about to be undone. */
  allow(): void {
    this.change.refusesAll = false;
  }

  /** How many requests got another response behind the first 503 of a change that refuses all. */
  get notRefused(): number {
    return this.change.notRefused;
  }

  /** Milliseconds from the change to the first 503; undefined until then. */
  get unnoticed(): number | undefined {
    const { madeAt = 0n, refusedAt } = this.change;
    return refusedAt === undefined ? undefined : Number(refusedAt - madeAt) / 1e6;
  }

  /** Sends a plant, and notes the outcome. Returns whether it is final: the id has this content, or another. */
  async send(client: Client, id: bigint, content = 0): Promise<boolean> {
    const { scenario, acknowledged, history } = this;
    const call = process.hrtime.bigint();
    history.ids.add(id);
    const { kind, text, took } = await send(client, plantOf(id, content));
    const at = process.hrtime.bigint();
    const isFinal = kind === 'acknowledged' || kind === 'taken';
    const isDoubtful = isFinal && this.isDoubtful(call);
    history.end(id, content, isDoubtful ? 'unknown' : kind, call);
    if (kind === 'refused' && this.change.madeAt !== undefined) this.change.refusedAt ??= at;
    const { refusedAt = at, refusesAll = false } = this.change;
    if (isFinal && refusesAll && call > refusedAt) this.change.notRefused += 1;
    scenario.counts[kind] += 1;
    scenario.longest = Math.max(scenario.longest, took);
    if (kind === 'wrong') scenario.learn(text);
    if (took > LONGEST_MS) scenario.learn(`a request took ${took} ms`);
    const now = performance.now();
    if (isFinal) {
      scenario.gap = Math.max(scenario.gap, now - this.last200);
      this.last200 = now;
    } else this.lastOther = now;
    const known = isDoubtful ? this.doubtful : acknowledged;
    if (kind === 'acknowledged' && !known.has(id))
      known.set(id, { content, at, scenario: this.scenario });
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
    const isLost = ([id, { content }]: [bigint, Acknowledged]) => stored.get(id) !== content;
    for (const [, { scenario }] of [...this.doubtful].filter(isLost)) scenario.takenBack += 1;
    const lost = [...this.acknowledged].filter(isLost);
    const isSent = (id: bigint) => this.history.ids.has(id) && stored.get(id) !== undefined;
    const others = [...stored.keys()].filter((id) => !isSent(id));
    const during = [...new Set(lost.map(([, { scenario }]) => scenario.name))].join(', ');
    if (lost.length > 0)
      this.scenario.learn(`${lost.length} plants are lost that got 200 during: ${during}`);
    if (others.length > 0) this.scenario.learn(`${others.length} plants that nobody sent`);
  }

  /** Checks also that each response was right when it came: the history is linearizable (needs Go). */
  async checkHistory(store: TemporaryStore): Promise<void> {
    await this.check(store);
    const call = process.hrtime.bigint();
    this.history.read(await store.plants(), call);
    this.scenario.learn(await this.history.check());
  }

  /**
   * Whether the response to a request of a time may be from a store that an operator takes back. The first 503 may have had
   * another reason, such as a busy machine: until {@link allow} a response that is no 503 is wrong anyway.
   */
  private isDoubtful(call: bigint): boolean {
    const { takesBack, refusedAt, refusesAll = false } = this.change;
    return takesBack && (refusesAll || refusedAt === undefined || call < refusedAt);
  }
}
