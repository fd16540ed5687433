type Attributes = Readonly<Record<string, string | number>>;

/** A span of OTLP (opentelemetry-proto, trace/v1/trace.proto). Times in nanoseconds. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceState: string;
  readonly parent: string;
  readonly name: string;
  readonly kind: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Attributes;
  readonly events: number;
  readonly links: number;
  /** 0: unset, 2: error. */
  readonly status: number;
  readonly message: string;
  /** The attributes of the sender. */
  readonly resource: Attributes;
}

/** What an ExportTraceServiceRequest has in JSON (opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding"). */
interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Pair[] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceState?: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Pair[];
  readonly events: readonly unknown[];
  readonly links: readonly unknown[];
  readonly status: { readonly code: number; readonly message?: string };
}

interface Pair {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: number };
}

/** The spans of an ExportTraceServiceRequest. */
export function readSpans(body: Buffer): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(body.toString()) as ExportRequest;
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => readSpan(span, toAttributes(resource.attributes))),
  );
}

function readSpan(span: Span, resource: Attributes): ReceivedSpan {
  const { traceId, spanId, traceState = '', parentSpanId: parent = '', name, kind, status } = span;
  return {
    ...{ traceId, spanId, traceState, parent, name, kind, resource },
    start: BigInt(span.startTimeUnixNano),
    end: BigInt(span.endTimeUnixNano),
    attributes: toAttributes(span.attributes),
    events: span.events.length,
    links: span.links.length,
    status: status.code,
    message: status.message ?? '',
  };
}

function toAttributes(pairs: readonly Pair[]): Attributes {
  const entries = pairs.map(({ key, value }) => [
    key,
    'stringValue' in value ? value.stringValue : value.intValue,
  ]);
  return Object.fromEntries(entries) as Attributes;
}
