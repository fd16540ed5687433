import type { Readable } from 'node:stream';
import { InFlight } from './in-flight.js';
import { readLines } from './lines.js';
import type { Refusal } from './outcome.js';
import type { PlantsClient } from './plants-client.js';

/** How an import stands: plants stored and refused so far, and the bytes of their lines. */
export interface Tally {
  stored: number;
  refused: number;
  bytes: number;
}

/** A plant that the service refused: its line's number and text, and the service's words. */
export interface Refused extends Refusal {
  readonly line: number;
  readonly plant: string;
}

/** Bytes of all lines under way at once. */
const MAX_BYTES = 2 ** 25;

/** The import ended before its source did; the message is one line, for the operator. */
export class ImportStopped extends Error {}

/** Sends every line of NDJSON to a service, many at a time; memory does not grow with the source. */
export class PlantsImport {
  private readonly inFlight: InFlight;
  private stop: { readonly cause: unknown; line?: number } | undefined;

  /**
   * @param tally kept up to date with every answer
   * @param onRefused called for every refused plant, in the order of the answers
   */
  constructor(
    private readonly client: PlantsClient,
    concurrency: number,
    private readonly tally: Tally,
    private readonly onRefused: (refused: Refused) => void,
  ) {
    this.inFlight = new InFlight(concurrency, MAX_BYTES);
  }

  /** @throws ImportStopped once the source or the service fails; it names the first line at fault */
  async run(source: Readable): Promise<void> {
    try {
      for await (const { number, text } of readLines(source)) {
        await this.inFlight.room(text.length);
        if (this.stop) break;
        void this.send(number, text, source);
      }
    } catch (cause) {
      this.stop ??= { cause };
    }
    await this.inFlight.empty();
    if (this.stop) throw new ImportStopped(this.report(this.stop));
  }

  private async send(line: number, text: Buffer, source: Readable): Promise<void> {
    this.inFlight.enter(text.length);
    try {
      const refusal = await this.client.create(text);
      if (refusal) this.refuse(line, text, refusal);
      else this.tally.stored += 1;
      this.tally.bytes += text.length + 1;
    } catch (cause) {
      this.stop ??= { cause };
      this.stop.line = Math.min(line, this.stop.line ?? line);
      this.client.stop();
      // The loop may wait for a pipe that says nothing more.
      source.destroy();
    } finally {
      this.inFlight.leave(text.length);
    }
  }

  private refuse(line: number, text: Buffer, { error, message }: Refusal): void {
    this.tally.refused += 1;
    this.onRefused({ line, error, message, plant: text.toString() });
  }

  private report({ cause, line }: { cause: unknown; line?: number }): string {
    const where = line === undefined ? 'stopped' : `stopped at line ${line}`;
    const { stored, refused } = this.tally;
    return `${where}: ${(cause as Error).message}; ${count(stored)} stored, ${refused} refused`;
  }
}

/** `1 plant is`, `2 plants are`. */
export function count(plants: number): string {
  return plants === 1 ? '1 plant is' : `${plants} plants are`;
}
