import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from './client.js';
import type { Ledger } from './ledger.js';
import { Ids, plantOf } from './plants.js';

export const CLIENTS = 24;
/** Milliseconds that a client waits at most after a 200: the machine is not to be the limit. */
const PAUSE = 20;
/** Milliseconds after anything else: sooner than Retry-After asks, to see when the service is back. */
const PAUSE_AFTER_TROUBLE = 50;

/** How often a client sends its last plant once more, whatever the answer was: it must do no harm. */
const REPEATS = 1 / 8;

/** What the clients of a load do otherwise than by default. */
export interface LoadOptions {
  /** Milliseconds that a client waits at most after a 200. */
  readonly pause?: number;
  readonly ids?: Ids;
  readonly clients?: number;
  /** How often a client sends its last plant once more. */
  readonly repeats?: number;
}

/** Clients that send one plant after the other, each on a connection of its own. */
export class Load {
  private readonly client: Client;
  private readonly pause: number;
  private readonly ids: Ids;
  private readonly repeats: number;
  private running = true;
  private readonly clients: Promise<void>[];

  constructor(
    url: string,
    token: string,
    private readonly ledger: Ledger,
    options: LoadOptions = {},
  ) {
    this.pause = options.pause ?? PAUSE;
    this.ids = options.ids ?? new Ids();
    this.repeats = options.repeats ?? REPEATS;
    this.client = new Client(url, token);
    this.clients = Array.from({ length: options.clients ?? CLIENTS }, () => this.run());
  }

  /** Sends the plants once more that have no 200 yet; there is no reason left for another answer. */
  async repeat(): Promise<void> {
    const ids = [...this.ledger.open.keys()];
    const one = async (): Promise<void> => {
      for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
        if (await this.send(id)) continue;
        this.ledger.wrong.push(`plant ${id}, sent again: ${this.ledger.open.get(id)}`);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, one));
  }

  /** Ends the clients, each when it has its answer. */
  async stop(): Promise<void> {
    this.running = false;
    await Promise.all(this.clients);
    this.client.close();
  }

  private async run(): Promise<void> {
    let id = this.ids.next();
    while (this.running) {
      const acknowledged = await this.send(id);
      if (Math.random() > this.repeats) id = this.ids.next();
      await sleep(acknowledged ? Math.random() * this.pause : PAUSE_AFTER_TROUBLE);
    }
  }

  private async send(id: bigint): Promise<boolean> {
    const sent = performance.now();
    const answer = await this.client.send(plantOf(id));
    this.ledger.note(id, answer, performance.now() - sent);
    return answer.kind === 'acknowledged';
  }
}
