import { randomFillSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ERRORS } from '../src/errors/error-codes.js';
import type { Client } from '../test/support/client.js';
import type { StoredPlant, TemporaryStore } from '../test/support/temporary-store.js';
import { History } from './history.js';

export const CLIENTS = 24;
/** The limit of a request in milliseconds: DATABASE_TIMEOUT, and the delay of a busy machine. */
export const LONGEST_MS = 5_000 + 500;
/** Milliseconds after which a request hangs. */
const HANGING_MS = 20_000;
/** Milliseconds of pause after other responses than 200: less than Retry-After, to notice the recovery. */
const RETRY_PAUSE_MS = 50;
/** Milliseconds of 200s only after which the service counts as recovered. */
const QUIET_MS = 700;
/** One of 64 plants has a name of some 9 kB, which takes its own pages in SQLite. */
const LONG = 64n;
/** An odd factor: no two multiples of it are the same modulo 2^64. */
export const STEP = 2_862_933_555_777_941_757n;

/** The plant of an id, computed from it, so that only the id need be kept. */
export function plantOf(id: bigint): StoredPlant {
  const digits = BigInt.asUintN(64, id).toString(36);
  const name = id % LONG === 0n ? digits.repeat(700) : `n ${digits} 🌵`;
  return { id, name, tag: id % 5n === 0n ? null : `t'${digits}"\\` };
}

interface Content {
  readonly name: string;
  readonly tag?: string;
}

/** The plant as a client sends it, without its id. */
export function contentOf(id: bigint): Content {
  const { name, tag } = plantOf(id);
  return { name, ...(tag !== null && { tag }) };
}

/**
 * The result of a request: 200, the id taken by another client, 503 as the store is unavailable, a broken connection,
 * none, or what must never come.
 */
type Outcome = keyof Scenario['counts'];

/** Sends the plant of an id. `took` is in milliseconds. */
export async function send(client: Client, id: bigint, content = contentOf(id)) {
  const sent = performance.now();
  const hangs = sleep(HANGING_MS, ['wrong', 'no response'] as const, { ref: false });
  const [kind, text] = await Promise.race([exchange(client, id, content), hangs]);
  return { kind, text, took: performance.now() - sent };
}

async function exchange(
  client: Client,
  id: bigint,
  content: Content,
): Promise<readonly [Outcome, string]> {
  try {
    const { status, body, text, headers } = await client.create({ id, ...content });
    if (status === 200 && isDeepStrictEqual(body, content)) return ['acknowledged', text];
    const { error } = (body ?? {}) as { error?: number };
    if (status === 400 && error === ERRORS.ID_TAKEN.error) return ['taken', text];
    const isRefused = error === ERRORS.STORE_UNAVAILABLE.error && headers['retry-after'];
    return [isRefused ? 'refused' : 'wrong', `${status} ${text}`];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) return ['wrong', String(error)];
    return [code === 'ECONNREFUSED' ? 'unreachable' : 'unknown', String(error)];
  }
}

/** A repeated disturbance of the service or its store, and its results. */
export class Scenario {
  /** For each time, in milliseconds: until the disturbed part was back, and the longest gap without a 200. */
  readonly rounds: { repair: number; without200: number }[] = [];
  readonly counts = { acknowledged: 0, taken: 0, refused: 0, unknown: 0, unreachable: 0, wrong: 0 };
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
      this.scenario.learn(this.history.check(await store.plants()));
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

/** Options of a load. */
export interface LoadOptions {
  readonly clients?: number;
  /** Maximum pause of a client after a 200 in milliseconds, so that the machine is not the limit. */
  readonly pause?: number;
  /** The share of plants that are sent again after any response, which must do no harm. */
  readonly repeats?: number;
  /** All plants have long names. */
  readonly areLong?: boolean;
  /** The clients race for so many ids at a time, with different contents. */
  readonly raced?: number;
}

/** Contents that race for an id, and requests until the next id joins the race. */
const [CONTENTS, NEXT_ID] = [['alder', 'birch', 'oak'], 16];

/** Clients that send one plant after another, each on its own connection. */
export class Load {
  private isRunning = true;
  private readonly clients: Promise<unknown>;

  constructor(
    private readonly client: Client,
    private readonly ledger: Ledger,
    {
      clients = CLIENTS,
      pause = 20,
      repeats = 1 / 8,
      areLong = false,
      raced = 0,
    }: LoadOptions = {},
  ) {
    const factor = areLong ? LONG : 1n;
    // Ids are all over int64, each once.
    let last = factor * (randomFillSync(new BigInt64Array(1))[0] ?? 0n);
    const next = () => (last = BigInt.asIntN(64, last + factor * STEP));
    const run = async (): Promise<void> => {
      let id = next();
      while (this.isRunning) {
        const isAcknowledged = await ledger.send(client, id);
        if (Math.random() > repeats) id = next();
        await sleep(isAcknowledged ? Math.random() * pause : RETRY_PAUSE_MS);
      }
    };
    const race = async (): Promise<void> => {
      while (this.isRunning) {
        // Mostly one of the newest: no plant has it yet.
        const age = Math.floor(raced * Math.random() ** 4);
        const id = BigInt(Math.floor(ledger.history.length / NEXT_ID) - age);
        const name = CONTENTS[Math.floor(Math.random() * CONTENTS.length)] ?? '';
        const isFinal = await ledger.race(client, id, name);
        await sleep(isFinal ? Math.random() * pause : RETRY_PAUSE_MS);
      }
    };
    this.clients = Promise.all(Array.from({ length: clients }, raced > 0 ? race : run));
  }

  /** Sends the plants without a 200 again. Another response than 200 is wrong now. */
  async repeat(): Promise<void> {
    const again = async (id: bigint): Promise<void> => {
      const isAcknowledged = await this.ledger.send(this.client, id);
      if (!isAcknowledged) this.ledger.scenario.learn(`plant ${id}, sent again: no 200`);
    };
    await Promise.all([...this.ledger.open].map(again));
  }

  /** Stops the clients, each after its last response. */
  async stop(): Promise<void> {
    this.isRunning = false;
    await this.clients;
    this.client.close();
  }
}
