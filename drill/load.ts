import { randomFillSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ERRORS } from '../src/errors/errors.js';
import type { Client } from '../test/support/client.js';
import { LONG, plantOf, type Answer, type Ledger } from './ledger.js';

export const CLIENTS = 24;
/** Milliseconds after anything but a 200: sooner than Retry-After asks, to see when the service is back. */
const PAUSE_AFTER_TROUBLE = 50;
/** Milliseconds after which a request has hung. */
const HUNG_MS = 20_000;
/** An odd factor: no two multiples of it are the same modulo 2^64. */
export const STEP = 2_862_933_555_777_941_757n;

/** Sends the plant of an id. */
export async function send(client: Client, id: bigint): Promise<Answer> {
  const { name, tag } = plantOf(id);
  const content = { name, ...(tag !== null && { tag }) };
  try {
    const received = await Promise.race([client.create({ id, ...content }), hang(HUNG_MS)]);
    const { status, body, text, headers } = received;
    if (status === 200 && isDeepStrictEqual(body, content)) return { kind: 'acknowledged' };
    const { error } = (body ?? {}) as { error?: number };
    const isRefused = error === ERRORS.STORE_UNAVAILABLE.error && headers['retry-after'];
    return isRefused ? { kind: 'refused' } : { kind: 'wrong', text: `${status} ${text}` };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) return { kind: 'wrong', text: String(error) };
    return { kind: code === 'ECONNREFUSED' ? 'unreachable' : 'unknown' };
  }
}

/** @throws Error after so many milliseconds, which a request must not take */
export async function hang(ms: number): Promise<never> {
  await sleep(ms, undefined, { ref: false });
  throw new Error(`no answer in ${ms} ms`);
}

/** What the clients of a load do otherwise than by default. */
export interface LoadOptions {
  readonly clients?: number;
  /** Milliseconds that a client waits at most after a 200: the machine is not to be the limit. */
  readonly pause?: number;
  /** How often a client sends its last plant once more, whatever the answer was: it must do no harm. */
  readonly repeats?: number;
  /** Whether all plants have long names. */
  readonly areLong?: boolean;
}

/** Clients that send one plant after the other, each on a connection of its own. */
export class Load {
  private isRunning = true;
  /** Ids are from the whole of int64 and look random, each once. */
  private last = randomFillSync(new BigInt64Array(1))[0] ?? 0n;
  private readonly clients: Promise<unknown>;

  constructor(
    private readonly client: Client,
    private readonly ledger: Ledger,
    { clients = CLIENTS, pause = 20, repeats = 1 / 8, areLong = false }: LoadOptions = {},
  ) {
    const factor = areLong ? LONG : 1n;
    this.last *= factor;
    const next = () => (this.last = BigInt.asIntN(64, this.last + factor * STEP));
    const run = async (): Promise<void> => {
      let id = next();
      while (this.isRunning) {
        const isAcknowledged = await this.send(id);
        if (Math.random() > repeats) id = next();
        await sleep(isAcknowledged ? Math.random() * pause : PAUSE_AFTER_TROUBLE);
      }
    };
    this.clients = Promise.all(Array.from({ length: clients }, run));
  }

  /** Sends the plants once more that have no 200 yet; there is no reason left for another answer. */
  async repeat(): Promise<void> {
    const again = async (id: bigint): Promise<void> => {
      if (!(await this.send(id))) this.ledger.wrong.push(`plant ${id}, sent again: no 200`);
    };
    await Promise.all([...this.ledger.open].map(again));
  }

  /** Ends the clients, each when it has its answer. */
  async stop(): Promise<void> {
    this.isRunning = false;
    await this.clients;
    this.client.close();
  }

  private async send(id: bigint): Promise<boolean> {
    const sent = performance.now();
    const answer = await send(this.client, id);
    this.ledger.note(id, answer, performance.now() - sent);
    return answer.kind === 'acknowledged';
  }
}
