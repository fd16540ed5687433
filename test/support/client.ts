import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { receive, type Received, type Sent } from './received.js';
import { recordSecrets } from './secrecy.js';

/** A client of the service over keep-alive connections. */
export class Client {
  /** The headers of a request with a plant and a token. */
  readonly headers: Readonly<Record<string, string>>;
  private readonly transport: typeof http | typeof https;
  private readonly agent: http.Agent;

  /**
   * @param connections the maximum of open ones
   * @param isTls whether it uses TLS; accepts any certificate
   * @param localAddress from which it connects
   */
  constructor(
    private readonly port: number,
    token: string,
    connections = 64,
    isTls = false,
    localAddress?: string,
  ) {
    this.headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    this.transport = isTls ? https : http;
    const options = { keepAlive: true, maxSockets: connections, rejectUnauthorized: false };
    this.agent = new this.transport.Agent({ ...options, ...(localAddress && { localAddress }) });
  }

  /** Sends a request. Rejects if the connection breaks before the end of the response. */
  async send({ method = 'POST', path = '/plants', headers = this.headers, body }: Sent = {}) {
    const { agent, port, transport } = this;
    recordSecrets([path, ...Object.values(headers).flat()].join('\n'));
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { agent, host: '127.0.0.1', port, method, path, headers };
      transport.request(options, resolve).on('error', reject).end(body);
    });
    const names = Object.entries(response.headersDistinct);
    const received = Object.fromEntries(names.map(([name, all = []]) => [name, all.join(', ')]));
    return receive({ method, path }, response.statusCode ?? 0, received, await text(response));
  }

  /** Sends a body to `POST /plants`. */
  post(body: string | Buffer, headers = this.headers): Promise<Received> {
    return this.send({ headers, body });
  }

  /** Sends a plant with its id in decimal digits. */
  create({ id, ...rest }: { id: bigint; name: string; tag?: string }): Promise<Received> {
    const fields = JSON.stringify(rest).slice(1);
    return this.post(`{"id":${id.toString()},${fields}`);
  }

  /** Closes the connections. */
  close(): void {
    this.agent.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
