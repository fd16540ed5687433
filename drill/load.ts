import { randomFillSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ERRORS } from '../src/errors/error-codes.js';
import type { Client } from '../test/support/client.js';
import { LONG, plantOf, type Answer, type Ledger } from './ledger.js';

export const CLIENTS = 24;
/** Milliseconds of pause after other answers than 200: less than Retry-After, to notice the recovery. */
const RETRY_PAUSE_MS = 50;
const REQUEST_TIMEOUT_MS = 20_000;
/** An odd factor: no two multiples of it are the same modulo 2^64. */
export const STEP = 2_862_933_555_777_941_757n;

/** Sends the plant of an id. */
export async function send(client: Client, id: bigint): Promise<Answer> {
  const sent = performance.now();
  const answer = await exchange(client, id);
  return { ...answer, took: performance.now() - sent };
}

async function exchange(client: Client, id: bigint): Promise<Omit<Answer, 'took'>> {
  const { name, tag } = plantOf(id);
  const content = { name, ...(tag !== null && { tag }) };
  try {
    const timeout = sleep(REQUEST_TIMEOUT_MS, undefined, { ref: false });
    const received = await Promise.race([client.create({ id, ...content }), timeout]);
    if (!received) return { kind: 'wrong', text: `no answer in ${REQUEST_TIMEOUT_MS} ms` };
    const { status, body, text, headers } = received;
    if (status === 200 && isDeepStrictEqual(body, content)) return { kind: 'acknowledged' };
    const { error } = (body ?? {}) as { error?: number };
    const isRefused = error === ERRORS.STORE_UNAVAILABLE.error && headers['retry-after'];
    return isRefused ? { kind: 'refused' } : { kind: 'wrong', text: `${status} ${text}` };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const text = String(error);
    if (code === undefined) return { kind: 'wrong', text };
    return { kind: code === 'ECONNREFUSED' ? 'unreachable' : 'unknown', text };
  }
}

/** Options of a load. */
export interface LoadOptions {
  readonly clients?: number;
  /** Maximum pause of a client after a 200 in milliseconds, so that the machine is not the limit. */
  readonly pause?: number;
  /** The share of plants that are sent again after any answer, which must do no harm. */
  readonly repeats?: number;
  /** All plants have long names. */
  readonly areLong?: boolean;
}

/** Clients that send one plant after another, each on its own connection. */
export class Load {
  private isRunning = true;
  /** Ids are all over int64, each once. */
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
        await sleep(isAcknowledged ? Math.random() * pause : RETRY_PAUSE_MS);
      }
    };
    this.clients = Promise.all(Array.from({ length: clients }, run));
  }

  /** Sends the plants without a 200 again. Another answer than 200 is wrong now. */
  async repeat(): Promise<void> {
    const again = async (id: bigint): Promise<void> => {
      if (!(await this.send(id))) this.ledger.wrong.push(`plant ${id}, sent again: no 200`);
    };
    await Promise.all([...this.ledger.open].map(again));
  }

  /** Stops the clients, each after its last answer. */
  async stop(): Promise<void> {
    this.isRunning = false;
    await this.clients;
    this.client.close();
  }

  private async send(id: bigint): Promise<boolean> {
    const answer = await send(this.client, id);
    this.ledger.record(id, answer);
    return answer.kind === 'acknowledged';
  }
}
