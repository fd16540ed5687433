/** A field as it is on the wire: a number (varint, fixed32, fixed64) or bytes. */
export type Field = bigint | Buffer;

/**
 * A protobuf message (protobuf.dev/programming-guides/encoding): the values of each field number, in
 * their order.
 *
 * @throws Error where it is none
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
