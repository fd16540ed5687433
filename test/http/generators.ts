import fc from 'fast-check';
import { newPlant as contracted } from '../support/contract.js';
import { service } from '../support/own.js';
import type { Received } from '../support/received.js';

/** The first surrogate, and how many there are. */
const [SURROGATE, SURROGATES] = [0xd800, 0x800];
/** Any character but U+0000 and surrogates. fast-check would take four seconds to make its own, `unit: 'binary'`. */
const character = fc.integer({ min: 1, max: 0x10ffff - SURROGATES }).map(
  (n) => String.fromCodePoint(n < SURROGATE ? n : n + SURROGATES),
  (value) => {
    const code = String(value).codePointAt(0) ?? 0;
    if (code === 0 || String.fromCodePoint(code) !== value) throw new Error('no character');
    return code < SURROGATE ? code : code - SURROGATES;
  },
);
/** Any text of such characters. */
export const text = fc.string({ unit: character });
/** An integer of 64 bits, often where a number would lose digits. */
export const int64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: 2n ** 53n - 9n, max: 2n ** 53n + 9n }),
  fc.bigInt({ min: -9n, max: 9n }),
);

/** An int64, and one of the ways in which JSON can write it. */
const writtenId = fc
  .tuple(int64, fc.nat(20), fc.constantFrom('e', 'E'))
  .chain(([id, n, e]) =>
    fc
      .constantFrom(
        `${id}`,
        `${id}.${'0'.repeat(n + 1)}`,
        `${id}${e}${n % 2 === 0 ? '+' : '-'}0`,
        `${id * 10n ** BigInt(n)}${e}-${n}`,
        `${id / 10n || (id < 0n ? '-0' : '0')}.${(id < 0n ? -id : id) % 10n}${e}1`,
      )
      .map((literal) => ({ id, literal })),
  );

/** A member of a JSON object, whose value is JSON. */
export const member = (name: string, value: string) => `${JSON.stringify(name)}:${value}`;
/** Unknown members of a plant. */
const others = fc
  .uniqueArray(
    fc.tuple(
      text.filter((name) => !Object.hasOwn(contracted.properties, name)),
      fc.json(),
    ),
    { maxLength: 3, selector: ([name]) => name },
  )
  .map((members) => members.map(([name, json]) => member(name, json)));
/** A NewPlant: what it contains, and its JSON, with the members in any order and unknown ones among them. */
export const newPlant = fc
  .record({ written: writtenId, name: text, tag: fc.option(text, { nil: undefined }), others })
  .chain((plant) => {
    const { written, name, tag } = plant;
    const members = [member('id', written.literal), member('name', JSON.stringify(name))];
    if (tag !== undefined) members.push(member('tag', JSON.stringify(tag)));
    const all = [...members, ...plant.others];
    return fc
      .shuffledSubarray(all, { minLength: all.length })
      .map((shuffled) => ({ ...plant, json: `{${shuffled.join(',')}}` }));
  });

/** Sends a body until the response is not the 503 of a busy machine, which stored nothing for good. */
export async function post(body: string | Buffer): Promise<Received> {
  for (;;) {
    const response = await service.client.post(body);
    if (response.status !== 503) return response;
  }
}
