import { randomFillSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../test/support/client.js';
import type { Ledger } from './ledger.js';
import { LONG, STEP } from './plants.js';

export const CLIENTS = 24;
/** Milliseconds of pause after other responses than 200: less than Retry-After, to notice the recovery. */
const RETRY_PAUSE_MS = 50;

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
