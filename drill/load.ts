import { randomFillSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../test/support/client.js';
import type { Ledger } from './ledger.js';
import { LONG } from './plants.js';

export const CLIENTS = 32;
/** Milliseconds of pause after other responses than 200: less than Retry-After, to notice the recovery. */
const RETRY_PAUSE_MS = 50;
/** An odd factor: no two multiples of it are the same modulo 2^64. */
const STEP = 2_862_933_555_777_941_757n;
/** The newest ids, of which repeats have one. */
const RACED = 500;

/** Options of a load. */
export interface LoadOptions {
  readonly clients?: number;
  /** Maximum pause of a client after a 200 in milliseconds, so that the machine is not the limit. */
  readonly pause?: number;
  /** The share of requests with an id that was sent before. */
  readonly repeats?: number;
  /** All plants have long names. */
  readonly areLong?: boolean;
  /** How many different contents race for an id. */
  readonly contents?: number;
}

/** Clients that send one plant after another, each on its own connection, and race for ids. */
export class Load {
  private isRunning = true;
  private readonly clients: Promise<unknown>;

  constructor(
    private readonly client: Client,
    ledger: Ledger,
    options: LoadOptions = {},
  ) {
    const { clients = CLIENTS, pause = 20, repeats = 3 / 4, areLong, contents = 3 } = options;
    const factor = areLong ? LONG : 1n;
    // Ids are all over int64.
    const [start = 0n] = randomFillSync(new BigInt64Array(1));
    let newest = 0;
    const run = async (): Promise<void> => {
      while (this.isRunning) {
        // Mostly of the last ones: no plant has such an id yet.
        const age = Math.random() < repeats ? Math.floor(RACED * Math.random() ** 4) : -1;
        const number = newest - age;
        newest = Math.max(newest, number);
        const id = BigInt.asIntN(64, factor * (start + BigInt(number) * STEP));
        const isFinal = await ledger.send(client, id, Math.floor(Math.random() * contents));
        await sleep(isFinal ? Math.random() * pause : RETRY_PAUSE_MS);
      }
    };
    this.clients = Promise.all(Array.from({ length: clients }, run));
  }

  /** Stops the clients, each after its last response. */
  async stop(): Promise<void> {
    this.isRunning = false;
    await this.clients;
    this.client.close();
  }
}
