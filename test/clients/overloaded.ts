import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A response that is not the service's. */
interface OwnResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const TYPE = { 'content-type': 'application/json' };
const AGAIN = '{"error":1,"message":"again"}';
const OVERLOAD: readonly OwnResponse[] = [
  { status: 503, headers: { ...TYPE, 'retry-after': '2' }, body: AGAIN },
  { status: 429, headers: { ...TYPE, 'retry-after': '1' }, body: AGAIN },
  { status: 408, headers: { ...TYPE, connection: 'close' }, body: AGAIN },
];

/** A proxy of the service that responds to the first requests itself. */
export class Overloaded {
  /** When each request arrived, in milliseconds. */
  readonly times: number[] = [];

  private constructor(private readonly server: Server) {}

  /** @param responses to the first requests, in turn: by default, as the service does when it is overloaded */
  static async start(target: number, responses = OVERLOAD): Promise<Overloaded> {
    const server = createServer();
    const overloaded = new Overloaded(server);
    server.on('request', (received, response) => {
      const own = responses[overloaded.times.push(performance.now()) - 1];
      if (own) {
        received.resume().on('end', () => {
          response.writeHead(own.status, own.headers).end(own.body);
        });
        return;
      }
      const { method, url: path, headers } = received;
      const sent = request({ port: target, host: '127.0.0.1', method, path, headers }, (from) => {
        response.writeHead(from.statusCode ?? 502, from.headers);
        from.pipe(response);
      });
      received.pipe(sent);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return overloaded;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }
}
