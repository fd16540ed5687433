import { setMaxListeners } from 'node:events';
import { addAbortSignal, type Readable } from 'node:stream';
import {
  AnswerError,
  type CreateOptions,
  type PlantStoreClient,
} from '../client/plant-store-client.js';
import { assertNdjson, readNdjson, type Line, type Refused } from './ndjson.js';
import { describeFailure } from './service-pool.js';

/** A longer line is sent alone. */
const MAX_BYTES_IN_FLIGHT = 2 ** 25;

/** Sends every line of NDJSON to a service, many at a time; memory does not grow with the source. */
export class PlantsImport {
  /** Plants stored and refused so far, and the bytes of their lines. */
  readonly tally = { stored: 0, refused: 0, bytes: 0 };
  /** Why the latest try failed; undefined after an answer. */
  lastError: string | undefined;
  private readonly inFlight = { plants: 0, bytes: 0 };
  /** Resolves with the next answer. */
  private answer = Promise.withResolvers<undefined>();
  private stop: { readonly cause: unknown } | undefined;
  /** The number of the latest line that was sent, and of the first without an answer. */
  private sentLine = 0;
  private failedLine = Infinity;
  private readonly stopping = new AbortController();
  private readonly options: CreateOptions = {
    signal: this.stopping.signal,
    onRetry: (error) => (this.lastError = describeFailure(error)),
  };

  /**
   * @param client must not abort a request in flight at its signal
   * @param concurrency how many plants are in flight at most
   * @param onRefused called for every refused plant, in the order of the answers
   */
  constructor(
    private readonly client: PlantStoreClient,
    private readonly concurrency: number,
    private readonly onRefused: (refused: Refused) => void,
  ) {
    // Each plant that waits for its next try has a listener.
    setMaxListeners(0, this.stopping.signal);
  }

  /** Whether it ended, or will end, before its source. */
  get isStopped(): boolean {
    return this.stop !== undefined;
  }

  /** The number of leading lines that all have an answer, counting blank ones; known at the end. */
  get answeredLines(): number {
    return Math.min(this.sentLine, this.failedLine - 1);
  }

  /** @throws Error if the source or the service fails; its one line names the first line without an answer */
  async run(source: Readable): Promise<void> {
    // Else the loop could wait forever for a silent pipe.
    addAbortSignal(this.stopping.signal, source);
    try {
      let lines = 0;
      for await (const line of readNdjson(source)) {
        if (lines++ === 0) assertNdjson(line);
        while (this.isFull(line)) await this.answer.promise;
        if (this.stop) break;
        void this.send(line);
      }
    } catch (cause) {
      this.stop ??= { cause };
    }
    while (this.inFlight.plants > 0) await this.answer.promise;
    if (!this.stop) return;
    const where = this.failedLine === Infinity ? 'stopped' : `stopped at line ${this.failedLine}`;
    throw new Error(`${where}: ${describeFailure(this.stop.cause)}`);
  }

  /** Ends reading and retries; requests in flight still get their answers. */
  halt(cause: unknown): void {
    this.stop ??= { cause };
    this.stopping.abort();
  }

  private isFull({ text }: Line): boolean {
    const { plants, bytes } = this.inFlight;
    return plants >= this.concurrency || (plants > 0 && bytes + text.length > MAX_BYTES_IN_FLIGHT);
  }

  private async send({ number, text }: Line): Promise<void> {
    this.sentLine = number;
    this.inFlight.plants += 1;
    this.inFlight.bytes += text.length;
    try {
      await this.client.createPlantFromJson(text, this.options);
      this.tally.stored += 1;
      this.lastError = undefined;
    } catch (cause) {
      if (isRefusal(cause)) {
        this.refuse({
          line: number,
          error: cause.error,
          message: cause.message,
          plant: text.toString(),
        });
      } else {
        this.failedLine = Math.min(number, this.failedLine);
        this.halt(cause);
      }
    }
    this.tally.bytes += text.length + 1;
    this.inFlight.plants -= 1;
    this.inFlight.bytes -= text.length;
    this.answer.resolve(undefined);
    this.answer = Promise.withResolvers();
  }

  private refuse(refused: Refused): void {
    this.tally.refused += 1;
    this.lastError = undefined;
    try {
      this.onRefused(refused);
    } catch (cause) {
      // The next refusals could not be reported either.
      this.halt(cause);
    }
  }
}

function isRefusal(error: unknown): error is AnswerError & { readonly error: number } {
  return error instanceof AnswerError && error.status === 400 && error.error !== undefined;
}
