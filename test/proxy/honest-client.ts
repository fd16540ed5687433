import http, { type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { recordSecrets } from '../support/secrecy.js';

/** Sends a body to `POST /plants` from an address of this machine. By default on a connection of its own. */
export async function createFrom(
  localAddress: string,
  port: number,
  headers: Readonly<Record<string, string>>,
  body: string,
  agent: http.Agent | false = false,
) {
  recordSecrets(Object.values(headers).join('\n'));
  const options = { agent, localAddress, host: '127.0.0.1', port, path: '/plants' };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    http
      .request({ ...options, method: 'POST', headers }, resolve)
      .on('error', reject)
      .end(body);
  });
  const content = await text(response);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: JSON.parse(content) as unknown,
  };
}
