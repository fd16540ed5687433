import { setMaxListeners } from 'node:events';
import { addAbortSignal, type Readable } from 'node:stream';
import {
  AnswerError,
  type CreateOptions,
  type PlantStoreClient,
} from '../client/plant-store-client.js';
import { describeFailure } from './service-pool.js';

/** A line of NDJSON that is not blank: the bytes before its line feed, and its number from 1. */
interface Line {
  readonly number: number;
  readonly text: Buffer;
}

/** A plant that the service refused: its line's number and text, and the service's Error body. */
export interface Refused {
  readonly line: number;
  readonly error: number;
  readonly message: string;
  readonly plant: string;
}

/** In bytes: far more than a service can be configured to take. */
const MAX_LINE_LENGTH = 2 ** 24;

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
    return this.stopping.signal.aborted;
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
        if (this.isStopped) break;
        void this.send(line);
      }
    } catch (cause) {
      this.halt(cause);
    }
    while (this.inFlight.plants > 0) await this.answer.promise;
    if (!this.isStopped) return;
    const where = this.failedLine === Infinity ? 'stopped' : `stopped at line ${this.failedLine}`;
    throw new Error(`${where}: ${describeFailure(this.stopping.signal.reason)}`);
  }

  /** Ends reading and retries; requests in flight still get their answers. */
  halt(cause: unknown): void {
    this.stopping.abort(cause);
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
        const { error, message } = cause;
        this.refuse({ line: number, error, message, plant: text.toString() });
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

/** White space within a line (RFC 8259, section 2). */
const JSON_SPACE = Buffer.from(' \t\r');
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/**
 * Reads NDJSON line by line and keeps the bytes as they are, so that no number loses a digit.
 * Blank lines count but are left out. Memory holds at most one chunk and one line.
 *
 * @throws Error if a line is longer than `maxLength` bytes
 */
export async function* readNdjson(
  source: AsyncIterable<Buffer>,
  maxLength = MAX_LINE_LENGTH,
): AsyncGenerator<Line> {
  let number = 1;
  let rest: Buffer = Buffer.alloc(0);
  const assertLength = ({ length }: Buffer): void => {
    if (length > maxLength) throw new Error(`line ${number} is longer than ${maxLength} bytes`);
  };
  for await (const chunk of source) {
    // The line's earlier chunks have no line feed.
    let from = rest.length;
    rest = Buffer.concat([rest, chunk]);
    for (let end; (end = rest.indexOf('\n', from)) !== -1; number += 1) {
      const line = rest.subarray(0, end);
      assertLength(line);
      yield* skipBlank(number, line);
      rest = rest.subarray(end + 1);
      from = 0;
    }
    assertLength(rest);
  }
  yield* skipBlank(number, rest);
}

function* skipBlank(number: number, bytes: Buffer): Generator<Line> {
  // Editors on Windows put a byte order mark before the first line.
  const isMarked = number === 1 && bytes.indexOf(BYTE_ORDER_MARK) === 0;
  const text = isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
  if (!text.every((byte) => JSON_SPACE.includes(byte))) yield { number, text };
}

/**
 * Checks the first line of a source, so that a file of another kind does not have every line refused.
 *
 * @throws Error if it is no start of a JSON object, or only its opening brace
 */
export function assertNdjson({ text }: Line): void {
  if (!/^\s*\{\s*\S/.test(text.toString('latin1'))) {
    throw new Error('not NDJSON: each line must be a whole JSON object');
  }
}
