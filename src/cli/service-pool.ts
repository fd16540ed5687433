import { once } from 'node:events';
import { connect } from 'node:tls';
import { Pool, type Dispatcher } from 'undici';
import { AnswerError, ConnectionError, type Fetch } from '../client/plant-store-client.js';
import { describeError } from '../errors/operator-message.js';
import { toPrintable } from './terminal.js';

/** A connection that receives nothing for this long is broken. */
const SILENCE_TIMEOUT_MS = 30_000;

/** An answer of a plant store has some hundred. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Codes of a connection that the service ended: it may expect TLS, or have another reason. */
const BROKEN = ['UND_ERR_SOCKET', 'ECONNRESET'];

/** A bounded number of connections to a service, which are reused. */
export class ServicePool {
  private readonly pool: Pool;
  private hasAnswered = false;
  private expectsTls: Promise<boolean> | undefined;

  constructor(
    private readonly url: URL,
    connections: number,
  ) {
    this.pool = new Pool(url.origin, {
      connections,
      allowH2: false,
      connectTimeout: SILENCE_TIMEOUT_MS,
      headersTimeout: SILENCE_TIMEOUT_MS,
      bodyTimeout: SILENCE_TIMEOUT_MS,
      maxResponseSize: MAX_ANSWER_BYTES,
    });
  }

  /**
   * undici's request() in the shape of fetch(), which itself takes four times the CPU time of an import. Ignores
   * signals: a request in flight gets its answer.
   */
  readonly fetch: Fetch = async (url, { method, headers, body }) => {
    const response = await this.pool
      .request({
        path: url.slice(this.url.origin.length),
        method: method as Dispatcher.HttpMethod,
        headers: headers as Record<string, string>,
        body: body as Buffer,
      })
      .catch((error: unknown) => this.explain(error as NodeJS.ErrnoException));
    this.hasAnswered = true;
    return {
      status: response.statusCode,
      headers: { get: (name) => response.headers[name]?.toString() ?? null },
      text: () => response.body.text(),
    };
  };

  close(): Promise<void> {
    return this.pool.destroy();
  }

  /** Checks, once, whether a service that has broken every connection so far expects TLS. */
  private async explain(error: NodeJS.ErrnoException): Promise<never> {
    const { hasAnswered, url } = this;
    if (url.protocol === 'http:' && !hasAnswered && BROKEN.includes(error.code ?? '')) {
      this.expectsTls ??= acceptsTls(url);
      const code = 'ERR_TLS_EXPECTED';
      if (await this.expectsTls) throw Object.assign(new Error('HTTPS expected'), { code });
    }
    throw error;
  }
}

/** Whether a TLS handshake succeeds, with any certificate; sends nothing more. */
async function acceptsTls({ hostname, port }: URL): Promise<boolean> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(SILENCE_TIMEOUT_MS) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Reasons of a TLS failure, by Node's and OpenSSL's codes; with another code the certificate is not trusted. */
const TLS_REASONS: Readonly<Record<string, string>> = {
  ERR_TLS_EXPECTED: 'the service speaks HTTPS: give --url https://…',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the service speaks HTTP, not HTTPS: check --url',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the service speaks HTTP, not HTTPS: check --url',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host name',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
};

/** Why a create failed, for the operator: with a line number before it, it fits into 80 columns. */
export function describeFailure(error: unknown): string {
  if (error instanceof AnswerError && error.error !== undefined) {
    return `error ${error.error}: ${toPrintable(error.message)}`;
  }
  if (!(error instanceof ConnectionError) || !error.isTlsFailure) return describeError(error);
  const untrusted = 'certificate not trusted: see NODE_EXTRA_CA_CERTS';
  return TLS_REASONS[error.code ?? ''] ?? untrusted;
}
