import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { readSpans, type ReceivedSpan } from './otlp.js';

/** A request that a collector received. */
export interface Export {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A collector of OTLP over HTTP that keeps everything it receives. */
export class Collector {
  readonly exports: Export[] = [];
  /** The status of its responses, and whether it responds at all. */
  status = 200;
  responds = true;
  private readonly changes = new EventEmitter();

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => {
      void buffer(request).then((body) => {
        this.exports.push({ url: request.url, headers: request.headers, body });
        if (this.responds) response.writeHead(this.status).end();
        this.changes.emit('export');
      });
    });
  }

  /** @param port 0 for a free one */
  static async start(port = 0): Promise<Collector> {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new Collector(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** All received spans, the oldest export first. */
  get spans(): ReceivedSpan[] {
    return this.exports.flatMap(({ body }) => readSpans(body));
  }

  /** The spans that match, once there are `count`. */
  async received(count: number, wanted: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan[]> {
    for (;;) {
      const spans = this.spans.filter(wanted);
      if (spans.length >= count) return spans;
      await once(this.changes, 'export');
    }
  }

  /** Forgets everything received. */
  clear(): void {
    this.exports.length = 0;
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }
}
