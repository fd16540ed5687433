import { createReadStream, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { barOf, Progress } from '../progress.js';
import { readLines, rejectReporter, type Line, type Refused } from './ndjson.js';
import { PlantsClient, type Refusal } from './plants-client.js';

/** What the operator chooses for an import. */
export interface ImportOptions {
  /** Base address of the service. */
  readonly url: URL;
  readonly token: string;
  /** Path of the file for refused plants. */
  readonly rejects?: string | undefined;
  /** Plants in flight at once. */
  readonly concurrency: number;
  /** Tries of one plant before the import stops. */
  readonly tries: number;
  /** Whether the summary is JSON. */
  readonly json?: true;
}

/** Bytes of all lines in flight at once; a longer line goes on its own. */
const MAX_BYTES = 2 ** 25;

/**
 * Imports a file, or the standard input where it is `-`: progress and refused plants go to stderr,
 * the summary to stdout.
 *
 * @returns how many plants were stored and refused
 * @throws ImportStopped; Error where a file cannot be opened
 */
export async function runImport(file: string, options: ImportOptions): Promise<Tally> {
  const { url, token, concurrency, tries, rejects } = options;
  const size = file === '-' ? 0 : statSync(file).size;
  const report = rejectReporter(rejects, (line) => progress.say(line));
  const source = file === '-' ? process.stdin : createReadStream(file);
  const client = new PlantsClient(url, token, concurrency, { tries });
  const plants = new PlantsImport(client, concurrency, report);
  const progress = new Progress((seconds) =>
    progressLine(plants.tally, size, seconds, client.lastError),
  );
  try {
    await plants.run(source);
  } finally {
    progress.end();
    await client.close();
  }
  const { stored, refused } = plants.tally;
  const text = `${areStored(stored)} (sent ${stored + refused}, refused ${refused})`;
  process.stdout.write(`${options.json ? JSON.stringify({ stored, refused }) : text}\n`);
  return plants.tally;
}

type Tally = PlantsImport['tally'];

/** The import ended before its source did; the message is one line, for the operator. */
export class ImportStopped extends Error {}

/** Sends every line of NDJSON to a service, many at a time; memory does not grow with the source. */
export class PlantsImport {
  /** Plants stored and refused so far, and the bytes of their lines. */
  readonly tally = { stored: 0, refused: 0, bytes: 0 };
  private readonly inFlight = { plants: 0, bytes: 0 };
  /** Settles with the next answer. */
  private answer = Promise.withResolvers<undefined>();
  private stop: { readonly cause: unknown; line?: number } | undefined;

  /**
   * @param concurrency how many plants are in flight at most
   * @param onRefused called for every refused plant, in the order of the answers
   */
  constructor(
    private readonly client: PlantsClient,
    private readonly concurrency: number,
    private readonly onRefused: (refused: Refused) => void,
  ) {}

  /** @throws ImportStopped once the source or the service fails; it names the first line at fault */
  async run(source: Readable): Promise<void> {
    try {
      for await (const line of readLines(source)) {
        while (this.isFull(line)) await this.answer.promise;
        if (this.stop) break;
        void this.send(line, source);
      }
    } catch (cause) {
      this.stop ??= { cause };
    }
    while (this.inFlight.plants > 0) await this.answer.promise;
    if (this.stop) throw new ImportStopped(this.report(this.stop));
  }

  private isFull({ text }: Line): boolean {
    const { plants, bytes } = this.inFlight;
    return plants >= this.concurrency || (plants > 0 && bytes + text.length > MAX_BYTES);
  }

  private async send({ number, text }: Line, source: Readable): Promise<void> {
    this.inFlight.plants += 1;
    this.inFlight.bytes += text.length;
    try {
      const refusal = await this.client.create(text);
      if (refusal) this.refuse(number, text, refusal);
      else this.tally.stored += 1;
      this.tally.bytes += text.length + 1;
    } catch (cause) {
      this.stop ??= { cause };
      this.stop.line = Math.min(number, this.stop.line ?? number);
      this.client.stop();
      // The loop may wait for a pipe that says nothing more.
      source.destroy();
    }
    this.inFlight.plants -= 1;
    this.inFlight.bytes -= text.length;
    this.answer.resolve(undefined);
    this.answer = Promise.withResolvers();
  }

  private refuse(line: number, text: Buffer, { error, message }: Refusal): void {
    this.tally.refused += 1;
    this.onRefused({ line, error, message, plant: text.toString() });
  }

  private report({ cause, line }: { cause: unknown; line?: number }): string {
    const where = line === undefined ? 'stopped' : `stopped at line ${line}`;
    const { stored, refused } = this.tally;
    return `${where}: ${(cause as Error).message}; ${areStored(stored)}, ${refused} refused`;
  }
}

/** `1 plant is stored`, `2 plants are stored`. */
function areStored(plants: number): string {
  return plants === 1 ? '1 plant is stored' : `${plants} plants are stored`;
}

/**
 * How an import stands after some seconds, in one line.
 *
 * @param size bytes of the whole source, for a bar; 0 where they are unknown, as those of a pipe
 * @param lastError why the client waits, if it does
 */
export function progressLine(
  { stored, refused, bytes }: Tally,
  size: number,
  seconds: number,
  lastError: string | undefined,
): string {
  const bar = size === 0 ? '' : `${barOf(bytes, size)} `;
  const rate = Math.round((stored + refused) / seconds);
  const waiting = lastError === undefined ? '' : `, retrying: ${lastError}`;
  return `${bar}${stored} stored, ${refused} refused, ${rate}/s${waiting}`;
}
