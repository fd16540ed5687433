import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { receive, type Received, type Sent } from './received.js';
import { noteSecrets } from './secrecy.js';

/** A client of the service over keep-alive connections. */
export class Client {
  /** The headers of a request that carries a plant and a token. */
  readonly headers: Readonly<Record<string, string>>;
  private readonly transport: typeof http | typeof https;
  private readonly agent: http.Agent;

  /**
   * @param connections how many are open at most
   * @param isTls whether it speaks TLS; any certificate will do
   */
  constructor(
    private readonly port: number,
    token: string,
    connections = 64,
    isTls = false,
  ) {
    this.headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    this.transport = isTls ? https : http;
    const options = { keepAlive: true, maxSockets: connections, rejectUnauthorized: false };
    this.agent = new this.transport.Agent(options);
  }

  /** Sends a request; rejects where the connection breaks before the whole answer is there. */
  async send({ method = 'POST', path = '/plants', headers = this.headers, body }: Sent = {}) {
    const { agent, port, transport } = this;
    noteSecrets([path, ...Object.values(headers).flat()].join('\n'));
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { agent, host: '127.0.0.1', port, method, path, headers };
      transport.request(options, resolve).on('error', reject).end(body);
    });
    const names = Object.entries(response.headersDistinct);
    const received = Object.fromEntries(names.map(([name, all = []]) => [name, all.join(', ')]));
    return receive({ method, path }, response.statusCode ?? 0, received, await text(response));
  }

  /** Sends the text of a body to `POST /plants`. */
  post(body: string | Buffer, headers = this.headers): Promise<Received> {
    return this.send({ headers, body });
  }

  /** Sends a plant; its id goes as its decimal digits. */
  create({ id, ...rest }: { id: bigint; name: string; tag?: string }): Promise<Received> {
    const fields = JSON.stringify(rest).slice(1);
    return this.post(`{"id":${id.toString()},${fields}`);
  }

  /** Closes the connections. */
  close(): void {
    this.agent.destroy();
  }
}
