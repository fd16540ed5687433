type Attributes = Readonly<Record<string, string | number>>;

/** A reference to a span. */
export interface Link {
  readonly traceId: string;
  readonly spanId: string;
}

/** A span of OTLP (opentelemetry-proto, trace/v1/trace.proto). Times in nanoseconds. */
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
  /** The attributes of the sender. */
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

/** A field on the wire: a number (varint, fixed32, fixed64) or bytes. */
export type Field = bigint | Buffer;

/**
 * Reads a protobuf message (protobuf.dev/programming-guides/encoding): the values of each field number
 * in order.
 *
 * @throws Error if it is malformed
 */
export function readMessage(bytes: Buffer): Map<number, Field[]> {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('the message is cut short');
    return bytes.subarray(at, (at += length));
  };
  const readVarint = (): bigint => {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = take(1).readUInt8();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const readers: Record<number, () => Field> = {
    0: readVarint,
    1: () => take(8).readBigUInt64LE(),
    2: () => take(Number(readVarint())),
    5: () => BigInt(take(4).readUInt32LE()),
  };
  while (at < bytes.length) {
    const tag = Number(readVarint());
    const value = readers[tag & 7]?.();
    if (value === undefined) throw new Error(`no such wire type: ${tag & 7}`);
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}
