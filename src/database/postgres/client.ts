import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import type { EntityManager } from 'typeorm';
import { StoreUnavailableException } from '../../errors/error-codes.js';

/** The reason where a result is that of another statement, as a proxy has repeated a message of the server. */
export const OUT_OF_ORDER = 'the messages of the server are out of order';

export type Runner = Pick<EntityManager, 'query'>;

/** Reads rows by a query. @throws StoreUnavailableException if the rows are those of another statement */
export async function listRows<Row extends object>(
  runner: Runner,
  sql: string,
  columns: readonly (keyof Row)[],
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  const rows = await runner.query<Row[] | undefined>(sql, [...parameters]);
  if (
    !Array.isArray(rows) ||
    !rows.every((row) => columns.every((column) => column in Object(row)))
  )
    throw new StoreUnavailableException(OUT_OF_ORDER);
  return rows;
}

/**
 * The driver's client, which the pool makes for each session. It reads the certificate files of its URL anew, so that a
 * renewal needs no restart. While one of them cannot be used, the login fails: an error of this constructor would end the
 * process, as nothing in the pool catches it.
 */
export class SessionClient extends Client {
  private readonly failure: Error | undefined;

  constructor({ connectionString, ...config }: ClientConfig = {}) {
    let parsed: ClientConfig = {};
    let failure: Error | undefined;
    try {
      parsed = parseUrl(connectionString ?? '');
    } catch (error) {
      failure = error as Error;
    }
    super({ ...config, ...parsed });
    this.failure = failure;
    // A server that stops may report that between two statements. The next statement fails, which is enough.
    this.on('error', () => undefined);
  }

  /** The pool passes a callback, and its timeout for the login includes the first statement. */
  override connect(connected?: (error: never, client: Client) => void): Promise<this> {
    const opened = this.open();
    const report = (error: unknown) => connected?.(error as never, this);
    opened.then(() => report(null), report);
    return opened;
  }

  private async open(): Promise<this> {
    if (this.failure) throw this.failure;
    await super.connect();
    try {
      // Statements then fail where row-level security would hide rows. A transaction pooler may not keep this setting.
      const { command } = await this.query('SET row_security = off');
      if (command !== 'SET') throw new Error(OUT_OF_ORDER);
      return this;
    } catch (error) {
      // The pool does not end a client that has failed to connect.
      void this.end();
      throw error;
    }
  }
}

/** @throws Error naming a file that cannot be read, or that is no certificate or key, as in the middle of a renewal */
function parseUrl(url: string): ClientConfig {
  const config = parseIntoClientConfig(url);
  const { sslrootcert, sslcert, sslkey } = config as Readonly<Record<string, unknown>>;
  const { ca, cert, key } = Object(config.ssl) as SecureContextOptions;
  let file = sslrootcert;
  try {
    if (ca !== undefined) new X509Certificate(String(ca));
    file = `${String(sslcert)} with the key ${String(sslkey)}`;
    if (cert !== undefined) createSecureContext({ cert, key });
    return config;
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(`DATABASE_URL: no certificate in PEM is ${String(file)}: ${message}`, {
      cause,
    });
  }
}
