/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { int64, member, newPlant, post, text } from './generators.js';
import { service, startService } from '../support/own.js';

startService();

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
