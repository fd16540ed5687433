import { once } from 'node:events';
import { connect } from 'node:tls';
import { Pool, type Dispatcher } from 'undici';
import type { Fetch } from '../../client/plant-store-client.js';

/** Without a byte from the service for so long, a connection counts as broken. */
const SILENCE_MS = 30_000;

/** How a connection fails whose other end waits for TLS; it fails so for other reasons too. */
const BROKEN = ['UND_ERR_SOCKET', 'ECONNRESET'];

/**
 * Connections to a service that are kept, and no more than so many. `fetch` is undici's request() in the shape of
 * fetch(), which itself takes four times the CPU time of an import. It lets what is in flight come to its end: signals are ignored.
 */
export class Connections {
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
      connectTimeout: SILENCE_MS,
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
    });
  }

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

  /** Looks, once, whether a service that has broken every connection so far speaks TLS. */
  private async explain(error: NodeJS.ErrnoException): Promise<never> {
    const { hasAnswered, url } = this;
    if (url.protocol === 'http:' && !hasAnswered && BROKEN.includes(error.code ?? '')) {
      this.expectsTls ??= speaksTls(url);
      const code = 'ERR_TLS_EXPECTED';
      if (await this.expectsTls) throw Object.assign(new Error('HTTPS expected'), { code });
    }
    throw error;
  }
}

/** Whether a handshake succeeds, with whatever certificate; nothing is sent. */
async function speaksTls({ hostname, port }: URL): Promise<boolean> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(SILENCE_MS) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
