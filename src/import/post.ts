import http, { type IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { urlToHttpOptions } from 'node:url';

/** An answer over HTTP, read to its end. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Posts JSON text; rejects where the connection breaks before the whole answer is here. */
export type Post = (json: Buffer) => Promise<HttpAnswer>;

/** Milliseconds without a byte from the service after which a connection counts as broken. */
const SILENCE = 30_000;

/**
 * Makes a {@link Post} to `<base>/plants` over connections that are kept for the next one.
 *
 * @param base URL of the service, http or https, with a path of its own if need be
 * @returns the function, and `close`, which gives the connections up
 */
export function posting(
  base: URL,
  token: string,
  connections: number,
): { post: Post; close: () => void } {
  const { request, Agent } = base.protocol === 'https:' ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, '')}/plants`;
  const options = {
    ...urlToHttpOptions(url),
    agent,
    method: 'POST',
    timeout: SILENCE,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  };
  const post: Post = (json) =>
    new Promise((resolve, reject) => {
      const sent = request(options, (response) => {
        const { statusCode: status = 0, headers } = response;
        text(response).then((body) => resolve({ status, headers, body }), reject);
      });
      sent.on('timeout', () => sent.destroy(new Error(`no answer within ${SILENCE / 1_000} s`)));
      sent.on('error', reject);
      sent.end(json);
    });
  return { post, close: () => agent.destroy() };
}
