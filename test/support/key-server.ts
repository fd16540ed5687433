import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A response of the server. A body that is not text is sent as JSON. */
export interface KeyAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** An HTTP server with the responses of a test, in place of an identity provider. */
export class KeyServer {
  /** Requested paths with their queries. */
  readonly asked: string[] = [];
  /** Responses by path. Other paths never get one. */
  answers: Readonly<Record<string, KeyAnswer>> = {};
  private server: Server | undefined;
  private port = 0;

  static async start(): Promise<KeyServer> {
    const server = new KeyServer();
    await server.listen();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Starts to listen, always at the same address. */
  async listen(): Promise<void> {
    this.server = createServer((request, response) => {
      this.asked.push(request.url ?? '');
      this.respond(request, response);
    }).listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
  }

  /** Stops listening. */
  async stop(): Promise<void> {
    const { server } = this;
    if (!server?.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }

  protected respond({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const answer = this.answers[url];
    if (!answer) return;
    const { status = 200, headers = {}, body } = answer;
    const isText = typeof body === 'string' || Buffer.isBuffer(body);
    response.writeHead(status, headers).end(isText ? body : JSON.stringify(body));
  }
}
