import { readMessage, type Field } from './protobuf.js';

type Attributes = Readonly<Record<string, string | number>>;

/** What a span says of another one. */
export interface Link {
  readonly traceId: string;
  readonly spanId: string;
}

/** A span, as OTLP has it (opentelemetry-proto, trace/v1/trace.proto); times in nanoseconds. */
export interface ReceivedSpan extends Link {
  readonly traceState: string;
  readonly parent: string;
  readonly name: string;
  readonly kind: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Attributes;
  readonly events: number;
  readonly links: readonly Link[];
  /** 0: unset, 2: error. */
  readonly status: number;
  readonly message: string;
  /** The attributes of who sent it. */
  readonly resource: Attributes;
}

/** The spans of an ExportTraceServiceRequest. */
export function readSpans(body: Buffer): ReceivedSpan[] {
  return messages(readMessage(body), 1).flatMap((resourceSpans) => {
    const [resource] = messages(resourceSpans, 1);
    const who = resource ? attributesOf(resource, 1) : {};
    return messages(resourceSpans, 2)
      .flatMap((scope) => messages(scope, 2))
      .map((span) => readSpan(span, who));
  });
}

function readSpan(span: Message, resource: Attributes): ReceivedSpan {
  const [status] = messages(span, 15);
  return {
    ...readLink(span),
    traceState: string(span, 3),
    parent: bytes(span, 4).toString('hex'),
    name: string(span, 5),
    kind: Number(number(span, 6)),
    start: number(span, 7),
    end: number(span, 8),
    attributes: attributesOf(span, 9),
    events: messages(span, 11).length,
    links: messages(span, 13).map(readLink),
    status: status ? Number(number(status, 3)) : 0,
    message: status ? string(status, 2) : '',
    resource,
  };
}

function readLink(link: Message): Link {
  return { traceId: bytes(link, 1).toString('hex'), spanId: bytes(link, 2).toString('hex') };
}

function attributesOf(owner: Message, field: number): Attributes {
  const pairs = messages(owner, field).map((pair) => {
    const [value] = messages(pair, 2);
    if (!value) throw new Error('an attribute without a value');
    return [string(pair, 1), value.has(1) ? string(value, 1) : Number(number(value, 3))];
  });
  return Object.fromEntries(pairs) as Attributes;
}

type Message = Map<number, Field[]>;

function messages(message: Message, field: number): Message[] {
  return (message.get(field) ?? []).map((value) => readMessage(asBytes(value)));
}

function bytes(message: Message, field: number): Buffer {
  return asBytes(message.get(field)?.[0] ?? Buffer.alloc(0));
}

function string(message: Message, field: number): string {
  return bytes(message, field).toString();
}

function number(message: Message, field: number): bigint {
  const value = message.get(field)?.[0] ?? 0n;
  if (typeof value !== 'bigint') throw new Error('not a number');
  return value;
}

function asBytes(value: Field): Buffer {
  if (typeof value === 'bigint') throw new Error('not bytes');
  return value;
}
