import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newPlant as contracted } from '../support/contract.js';
import type { Received } from '../support/received.js';
import { service, startService } from '../support/own.js';

startService();

/** Any text but U+0000 and unpaired surrogates. */
const text = fc.string({ unit: 'binary' }).filter((one) => !one.includes('\0'));
const int64 = fc.oneof(
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

/** Members of a JSON object in any order, with unknown ones among them. */
const member = (name: string, value: string) => `${JSON.stringify(name)}:${value}`;
const others = fc
  .uniqueArray(
    fc.tuple(
      text.filter((name) => !Object.hasOwn(contracted.properties, name)),
      fc.json(),
    ),
    { maxLength: 3, selector: ([name]) => name },
  )
  .map((members) => members.map(([name, json]) => member(name, json)));
const newPlant = fc
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
async function post(body: string | Buffer): Promise<Received> {
  for (;;) {
    const response = await service.client.post(body);
    if (response.status !== 503) return response;
  }
}

it('any NewPlant that the schema allows is accepted, stored and returned exactly, and so is its repeat', async () => {
  const seen = new Set<bigint>();
  await fc.assert(
    fc.asyncProperty(newPlant, async ({ written: { id }, name, tag, json }) => {
      fc.pre(!seen.has(id));
      seen.add(id);
      const plant = tag === undefined ? { name } : { name, tag };
      for (let time = 0; time < 2; time++) {
        const { status, body } = await post(json);
        expect({ status, body }).toEqual({ status: 200, body: plant });
        expect(await service.store.plant(id)).toEqual({ id, name, tag: tag ?? null });
      }
    }),
    { numRuns: 300 },
  );
  expect(await service.store.count()).toBe(seen.size);
});

describe('any body that does not match the schema', () => {
  const notText = fc.json().filter((json) => typeof JSON.parse(json) !== 'string');
  const surrogate = fc.integer({ min: 0xd800, max: 0xdfff }).map((unit) => unit.toString(16));
  const badText = fc.oneof(
    notText,
    fc
      .tuple(fc.constantFrom('0000', '0000\\u0000'), text)
      .map(([unit, rest]) => quoted(unit, rest)),
    fc.tuple(surrogate, text).map(([unit, rest]) => quoted(unit, rest)),
  );
  const outOfRange = fc
    .oneof(fc.bigInt({ min: 2n ** 63n, max: 2n ** 80n }), fc.bigInt({ max: -(2n ** 63n) - 1n }))
    .map((id) => `${id}`);
  const fraction = fc
    .tuple(int64, fc.nat(20), fc.integer({ min: 1, max: 9 }))
    .map(([id, zeros, digit]) => `${id}.${'0'.repeat(zeros)}${digit}`);
  const notNumber = fc.json().filter((json) => typeof JSON.parse(json) !== 'number');
  const badId = fc.oneof(outOfRange, fraction, notNumber, fc.constant(undefined));
  const good = {
    id: int64.map((id): string | undefined => `${id}`),
    name: text.map((name): string | undefined => JSON.stringify(name)),
    tag: fc.option(
      text.map((tag) => JSON.stringify(tag)),
      { nil: undefined },
    ),
  };
  const object = fc
    .oneof(
      fc.record({ ...good, id: badId }),
      fc.record({ ...good, name: fc.oneof(badText, fc.constant(undefined)) }),
      fc.record({ ...good, tag: badText }),
    )
    .map((fields) => {
      const given = Object.entries(fields).filter(([, json]) => json !== undefined);
      return `{${given.map(([name, json]) => member(name, json ?? '')).join(',')}}`;
    });
  const notObject = fc.json().filter((json) => {
    const value: unknown = JSON.parse(json);
    return typeof value !== 'object' || value === null || Array.isArray(value);
  });

  const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));
  const cut = fc.tuple(newPlant, fc.nat()).map(([{ json }, at]) => {
    const whole = Buffer.from(json);
    return whole.subarray(0, at % whole.length);
  });
  const notJson = fc.oneof(bytes, cut).filter((body) => !isJson(body));
  const NOT_JSON =
    /^the body (is (empty|not valid JSON: .* at position \d+|not valid UTF-8)|begins with a byte order mark.*)$/s;

  it.each<[string, number, RegExp, fc.Arbitrary<string | Buffer>]>([
    ['other JSON', 1003, /./, fc.oneof(object, notObject)],
    ['no JSON', 1000, NOT_JSON, notJson],
  ])('%s: 400 with %i, and nothing is stored', async (_name, error, message, bodies) => {
    const before = await service.store.plants();
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const refusal = { error, message: expect.stringMatching(message) };
        expect(await post(body)).toMatchObject({ status: 400, body: refusal });
      }),
      { numRuns: 500 },
    );
    expect(await service.store.plants()).toEqual(before);
  });
});

/** A JSON string that contains an escaped unpaired surrogate or U+0000. */
function quoted(unit: string, rest: string): string {
  return `"\\u${unit}${JSON.stringify(rest).slice(1)}`;
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}
