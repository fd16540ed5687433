import { Readable } from 'node:stream';
import type { Connection, Submittable } from 'pg';

/** Bytes of a chunk, but for a longer line, and how many may wait before the server does. */
const CHUNK_LENGTH = 2 ** 18;

/** What JSON never has within a line, so that nothing is quoted and each row is its text. */
const FORMAT = String.raw`(FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')`;

/**
 * The rows of a query of one column of JSON, a line each, by `COPY … TO STDOUT`
 * (postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY). It is given to query() of a client, whose
 * connection does not outlive it where it is left before its end. Each chunk has whole lines.
 */
export class CopyOut extends Readable implements Submittable {
  private connection: Connection | undefined;
  private isDone = false;
  private block = Buffer.allocUnsafe(CHUNK_LENGTH);
  private length = 0;

  constructor(private readonly sql: string) {
    super({ highWaterMark: CHUNK_LENGTH });
  }

  submit(connection: Connection): void {
    this.connection = connection;
    connection.query(`COPY (${this.sql}) TO STDOUT ${FORMAT}`);
  }

  override _read(): void {
    this.connection?.stream.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.isDone) this.connection?.stream.destroy();
    callback(error);
  }

  /** Copied, since the driver reuses the memory; and gathered, since a stream takes 1 µs for a chunk. */
  handleCopyData({ chunk: line }: { readonly chunk: Buffer }): void {
    if (this.length + line.length > this.block.length) this.flush(line.length);
    line.copy(this.block, this.length);
    this.length += line.length;
  }

  handleCommandComplete(): void {
    this.isDone = true;
    this.flush(0);
  }

  handleReadyForQuery(): void {
    this.push(null);
  }

  /** Hands on what is gathered; the next block has room for so many bytes. */
  private flush(bytes: number): void {
    const chunk = this.block.subarray(0, this.length);
    this.block = Buffer.allocUnsafe(Math.max(CHUNK_LENGTH, bytes));
    this.length = 0;
    if (chunk.length > 0 && !this.push(chunk)) this.connection?.stream.pause();
  }

  handleError(error: Error): void {
    this.isDone = true;
    this.destroy(error);
  }
}
