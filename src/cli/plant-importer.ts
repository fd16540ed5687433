/** An import: import.command.ts runs it, plant-sender.ts sends its plants. */
import { addAbortSignal, type Readable } from 'node:stream';
import { CONTENT } from '../plants/plant.entity.js';
import { describeFailure, parseMembers, PlantSender } from './plant-sender.js';
import type { Refusal, Target } from './plant-sender.js';

/** A line of NDJSON that is not blank: the bytes before its line feed, and its number from 1. */
interface Line {
  readonly number: number;
  readonly text: Buffer;
}

/** A plant that was refused, with the number and the text of its line. */
export interface Refused extends Refusal {
  readonly line: number;
  readonly plant: string;
}

export interface ImportOptions extends Target {
  /** Refuses plants with fields that the service would ignore. */
  readonly strict?: true;
}

/** In bytes: far more than a service can be configured to take. */
const MAX_LINE_LENGTH = 2 ** 24;
/** A longer line is sent alone. */
const MAX_BYTES_IN_FLIGHT = 2 ** 25;
/** What the service keeps of a plant. */
const FIELDS: readonly string[] = ['id', ...CONTENT];
/** Ignored fields that are counted each by its name. */
const MAX_IGNORED = 20;

/** Sends every line of NDJSON to a service, many at a time; memory does not grow with the source. */
export class PlantsImport {
  /** Plants stored and refused so far, and the bytes of their lines. */
  readonly tally = { stored: 0, refused: 0, bytes: 0 };
  /** Plants that were refused and not sent. */
  unsent = 0;
  /** How many stored plants had a field that the service ignores, by its name. */
  readonly ignored = new Map<string, number>();
  private bytesInFlight = 0;
  /** Resolves with the next response. */
  private response = Promise.withResolvers<undefined>();
  /** The number of the latest line that was read, and of the first without a response. */
  private readLine = 0;
  private failedLine = Infinity;
  private readonly stopping = new AbortController();
  readonly sender: PlantSender;

  /** @param onRefused called for every refused plant, in the order of the responses */
  constructor(
    private readonly options: ImportOptions,
    private readonly onRefused: (refused: Refused) => void,
  ) {
    this.sender = new PlantSender(options, this.stopping.signal);
  }

  /** Whether it ended, or will end, before its source. */
  get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  /** The number of leading lines that all have a response, counting blank ones; known at the end. */
  get answeredLines(): number {
    return Math.min(this.readLine, this.failedLine - 1);
  }

  /** @throws Error if the source or the service fails; its one line names the first line without a response */
  async run(source: Readable): Promise<void> {
    // Else a worker could wait forever for a silent pipe.
    addAbortSignal(this.stopping.signal, source);
    const lines = this.read(source);
    const work = async (): Promise<void> => {
      for await (const line of lines) await this.import(line);
    };
    const workers = Array.from({ length: this.options.concurrency }, work);
    await Promise.all(workers.map((worker) => worker.catch((cause: unknown) => this.halt(cause))));
    await this.sender.close();
    if (!this.isStopped) return;
    const where = this.failedLine === Infinity ? 'stopped' : `stopped at line ${this.failedLine}`;
    throw new Error(`${where}: ${describeFailure(this.stopping.signal.reason)}`);
  }

  /** Ends reading and retries; requests in flight still get their responses. */
  halt(cause: unknown): void {
    this.stopping.abort(cause);
  }

  private async *read(source: Readable): AsyncGenerator<Line> {
    for await (const line of readNdjson(source)) {
      if (this.readLine === 0) assertNdjson(line);
      const { length } = line.text;
      while (this.bytesInFlight > 0 && this.bytesInFlight + length > MAX_BYTES_IN_FLIGHT) {
        await this.response.promise;
      }
      if (this.isStopped) return;
      this.bytesInFlight += length;
      this.readLine = line.number;
      yield line;
    }
  }

  private async import({ number, text }: Line): Promise<void> {
    const plant = text.toString();
    const ignored = Object.keys(parseMembers(plant)).filter((field) => !FIELDS.includes(field));
    try {
      const refusal = this.refuseIgnored(ignored) ?? (await this.sender.send(text));
      if (refusal) this.refuse({ line: number, ...refusal, plant });
      else this.countStored(ignored);
    } catch (cause) {
      this.failedLine = Math.min(number, this.failedLine);
      this.halt(cause);
    }
    this.tally.bytes += text.length + 1;
    this.bytesInFlight -= text.length;
    this.response.resolve(undefined);
    this.response = Promise.withResolvers();
  }

  private refuseIgnored(ignored: readonly string[]): Refusal | undefined {
    if (!this.options.strict || ignored.length === 0) return undefined;
    this.unsent += 1;
    return { error: null, message: `the service would ignore ${ignored.join(', ')}` };
  }

  private countStored(ignored: readonly string[]): void {
    this.tally.stored += 1;
    for (const field of ignored) {
      const isNamed = this.ignored.has(field) || this.ignored.size < MAX_IGNORED;
      const name = isNamed ? field : 'others';
      this.ignored.set(name, (this.ignored.get(name) ?? 0) + 1);
    }
  }

  private refuse(refused: Refused): void {
    this.tally.refused += 1;
    try {
      this.onRefused(refused);
    } catch (cause) {
      // The next refusals could not be reported either.
      this.halt(cause);
    }
  }
}

/** White space within a line (RFC 8259, section 2). */
const JSON_SPACE = Buffer.from(' \t\r');
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/**
 * Reads NDJSON line by line and keeps the bytes as they are, so that no number loses a digit.
 * Blank lines count but are left out. At most one chunk and one line are in memory.
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
