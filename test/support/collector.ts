import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { end, listen } from './local-server.js';

/** A span of OTLP in JSON (opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding"), with its attributes by name. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceState?: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  /** In nanoseconds. */
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Attributes;
  readonly events: readonly unknown[];
  /** 0: unset, 2: error. */
  readonly status: { readonly code: number; readonly message?: string };
  /** The attributes of the sender. */
  readonly resource: Attributes;
}

type Attributes = Readonly<Record<string, string | number>>;

/** Attributes as OTLP has them: the only member of a value is `stringValue` or `intValue`. */
interface Attributed {
  readonly attributes: readonly { readonly key: string; readonly value: Attributes }[];
}

/** A member of an ExportTraceServiceRequest in JSON. */
interface ResourceSpans {
  readonly resource: Attributed;
  readonly scopeSpans: readonly { readonly spans: readonly (ReceivedSpan & Attributed)[] }[];
}

/** A collector of OTLP over HTTP that keeps everything it receives. */
export class Collector {
  readonly exports: { url: string; headers: IncomingHttpHeaders; body: Buffer }[] = [];
  /** The status of its responses, and whether it responds at all. */
  status = 200;
  responds = true;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {
    server.on('request', (request, response) => {
      const { url = '', headers } = request;
      void buffer(request).then((body) => {
        this.exports.push({ url, headers, body });
        if (this.responds) response.writeHead(this.status).end();
        server.emit('export');
      });
    });
  }

  /** @param port 0 for a free one */
  static async start(port = 0): Promise<Collector> {
    const server = createServer();
    return new Collector(server, await listen(server, port));
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
      await once(this.server, 'export');
    }
  }

  /** Forgets everything received. */
  clear(): void {
    this.exports.length = 0;
  }

  stop(): Promise<void> {
    return end(this.server);
  }
}

function readSpans(body: Buffer): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(body.toString()) as { resourceSpans: ResourceSpans[] };
  return resourceSpans.flatMap(({ resource: sender, scopeSpans }) => {
    const resource = toAttributes(sender);
    const spans = scopeSpans.flatMap((scope) => scope.spans);
    return spans.map((span) => ({ ...span, attributes: toAttributes(span), resource }));
  });
}

function toAttributes({ attributes }: Attributed): Attributes {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, Object.values(value)[0] ?? '']),
  );
}
