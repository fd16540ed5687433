import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer of the server. A body that is not text is sent as JSON. */
export interface KeyAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** An HTTP server with the answers of a test, in place of an identity provider. */
export class KeyServer {
  /** Requested paths with their queries. */
  readonly asked: string[] = [];
  /** Answers by path. Other paths never get one. */
  answers: Readonly<Record<string, KeyAnswer>> = {};

  private constructor(private readonly server: Server) {}

  static async start(): Promise<KeyServer> {
    const server = createServer((request, response) => {
      const path = request.url ?? '';
      own.asked.push(path);
      const answer = own.answers[path];
      if (!answer) return;
      const { status = 200, headers = {}, body } = answer;
      const isText = typeof body === 'string' || Buffer.isBuffer(body);
      response.writeHead(status, headers).end(isText ? body : JSON.stringify(body));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const own = new KeyServer(server);
    return own;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }
}
