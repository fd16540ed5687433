import { setMaxListeners } from 'node:events';
import { addAbortSignal, type Readable } from 'node:stream';
import {
  AnswerError,
  type CreateOptions,
  type PlantStoreClient,
} from '../../client/plant-store-client.js';
import { assertNdjson, readLines, type Line, type Refused } from './ndjson.js';
import { reasonOf } from './reason.js';

/** Bytes of all lines in flight at once; a longer line goes on its own. */
const MAX_BYTES = 2 ** 25;

/** The import ended before its source did; the message is one line, for the operator. */
export class ImportStopped extends Error {}

/** Sends every line of NDJSON to a service, many at a time; memory does not grow with the source. */
export class PlantsImport {
  /** Plants stored and refused so far, and the bytes of their lines. */
  readonly tally = { stored: 0, refused: 0, bytes: 0 };
  /** Number of the latest line that was sent. */
  private sent = 0;
  /** Why the latest try that failed did; undefined once one has succeeded. */
  lastError: string | undefined;
  private readonly inFlight = { plants: 0, bytes: 0 };
  /** Settles with the next answer. */
  private answer = Promise.withResolvers<undefined>();
  private stop: { readonly cause: unknown; line?: number } | undefined;
  private readonly stopping = new AbortController();
  private readonly options: CreateOptions = {
    signal: this.stopping.signal,
    onRetry: (error) => (this.lastError = reasonOf(error)),
  };

  /**
   * @param client what it has in flight comes to its end, whatever its signal says
   * @param concurrency how many plants are in flight at most
   * @param onRefused called for every refused plant, in the order of the answers
   */
  constructor(
    private readonly client: PlantStoreClient,
    private readonly concurrency: number,
    private readonly onRefused: (refused: Refused) => void,
  ) {
    // Two listeners for every plant in flight.
    setMaxListeners(0, this.stopping.signal);
  }

  /** Whether it ended, or is to end, before its source did. */
  get isStopped(): boolean {
    return this.stop !== undefined;
  }

  /** How many lines from the first one on are all answered, blank ones too; of an import that has ended. */
  get answeredLines(): number {
    return this.stop?.line === undefined ? this.sent : this.stop.line - 1;
  }

  /** @throws ImportStopped once the source or the service fails; it names the first line at fault */
  async run(source: Readable): Promise<void> {
    // The loop may wait for a pipe that says nothing more.
    addAbortSignal(this.stopping.signal, source);
    try {
      let lines = 0;
      for await (const line of readLines(source)) {
        if (lines++ === 0) assertNdjson(line);
        while (this.isFull(line)) await this.answer.promise;
        if (this.stop) break;
        void this.send(line);
      }
    } catch (cause) {
      this.stop ??= { cause };
    }
    while (this.inFlight.plants > 0) await this.answer.promise;
    if (this.stop) throw stopped(this.stop);
  }

  /** From now on nothing is read, and nothing tried again; what is in flight comes to its end. */
  halt(cause: unknown): void {
    this.stop ??= { cause };
    this.stopping.abort();
  }

  private isFull({ text }: Line): boolean {
    const { plants, bytes } = this.inFlight;
    return plants >= this.concurrency || (plants > 0 && bytes + text.length > MAX_BYTES);
  }

  private async send({ number, text }: Line): Promise<void> {
    this.sent = number;
    this.inFlight.plants += 1;
    this.inFlight.bytes += text.length;
    try {
      await this.client.createPlantFromJson(text, this.options);
      this.tally.stored += 1;
      this.noteAnswer(text);
    } catch (cause) {
      if (isRefusal(cause)) this.refuse(number, text, cause);
      else this.fail(number, cause);
    }
    this.inFlight.plants -= 1;
    this.inFlight.bytes -= text.length;
    this.answer.resolve(undefined);
    this.answer = Promise.withResolvers();
  }

  private refuse(line: number, text: Buffer, { error, message }: Refusal): void {
    this.tally.refused += 1;
    this.noteAnswer(text);
    try {
      this.onRefused({ line, error, message, plant: text.toString() });
    } catch (cause) {
      // Nobody would know of the next ones either.
      this.halt(cause);
    }
  }

  private noteAnswer({ length }: Buffer): void {
    this.tally.bytes += length + 1;
    this.lastError = undefined;
  }

  private fail(line: number, cause: unknown): void {
    this.halt(cause);
    if (this.stop) this.stop.line = Math.min(line, this.stop.line ?? line);
  }
}

type Refusal = AnswerError & { readonly error: number };

/** Whether the service has refused this plant; the next one may be better. */
function isRefusal(error: unknown): error is Refusal {
  return error instanceof AnswerError && error.status === 400 && error.error !== undefined;
}

function stopped({ cause, line }: { readonly cause: unknown; line?: number }): ImportStopped {
  const where = line === undefined ? 'stopped' : `stopped at line ${line}`;
  return new ImportStopped(`${where}: ${reasonOf(cause)}`);
}
