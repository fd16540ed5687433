import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';

/** A proxy has repeated a message of the server: a result may be that of another statement. */
export const OUT_OF_ORDER = 'the messages of the server are out of order';

/**
 * A client of the pool. It reads the certificate files of its URL anew: a renewal needs no restart. While one cannot be used
 * the login fails; the driver's own constructor would throw in the pool, where nothing catches it.
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
    // A server that stops may report it between two statements. The next statement fails.
    this.on('error', () => undefined);
  }

  /** The timeout of the pool, which passes a callback, includes the first statement. */
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
      // Where row-level security would hide rows, statements fail. A transaction pooler may not keep it.
      const { command } = await this.query('SET row_security = off');
      if (command !== 'SET') throw new Error(OUT_OF_ORDER);
      return this;
    } catch (error) {
      // The pool ends no client that has failed to connect.
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
