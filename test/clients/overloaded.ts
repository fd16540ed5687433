import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What is sent to the first requests, in turn. */
const RESPONSES = [
  { status: 503, headers: { 'retry-after': '1' } },
  { status: 429, headers: { 'retry-after': '1' } },
  { status: 408, headers: { connection: 'close' } },
] as const;

/** A proxy of the service that responds to the first requests itself: as the service does when it is overloaded. */
export class Overloaded {
  /** When each request arrived, in milliseconds. */
  readonly times: number[] = [];

  private constructor(private readonly server: Server) {}

  static async start(target: number): Promise<Overloaded> {
    const server = createServer();
    const overloaded = new Overloaded(server);
    server.on('request', (received, response) => {
      const own = RESPONSES[overloaded.times.push(performance.now()) - 1];
      if (own) {
        const headers = { ...own.headers, 'content-type': 'application/json' };
        received.resume().on('end', () => {
          response.writeHead(own.status, headers).end('{"error":1,"message":"again"}');
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
