import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Service } from './support/service.js';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

describe('POST /plants keeps the id to its last digit', () => {
  const texts: [literal: string, id: bigint][] = [
    ['0', 0n],
    ['-0', 0n],
    ['0.0e5', 0n],
    ['0e99999999999999999999', 0n],
    ['1', 1n],
    ['-1', -1n],
    ['7.0', 7n],
    ['7e2', 700n],
    ['7E+2', 700n],
    ['700e-2', 7n],
    ['1.25e2', 125n],
    ['2147483648', 2147483648n],
    ['9007199254740991', 9007199254740991n],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['9007199254740993.000', 9007199254740993n],
    ['9.007199254740993e15', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    ['9223372036854775806', 9223372036854775806n],
    ['9223372036854775807', 9223372036854775807n],
    ['9.223372036854775807e18', 9223372036854775807n],
    ['92233720368547758070e-1', 9223372036854775807n],
    ['-9223372036854775807', -9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
  ];
  it.each(texts)('%s', async (literal, id) => {
    // One name for all: some of the literals are the same id.
    const { status, body } = await service.client.post(`{"id":${literal},"name":"oak"}`);
    expect({ status, body }).toEqual({ status: 200, body: { name: 'oak' } });
    expect(await service.store.plant(id)).toEqual({ id, name: 'oak', tag: null });
  });

  it('stores a row for each id and no other', async () => {
    const ids = [...new Set(texts.map(([, id]) => id))].sort((a, b) => (a < b ? -1 : 1));
    expect((await service.store.plants()).map(({ id }) => id)).toEqual(ids);
  });
});

describe('POST /plants keeps every text exactly', () => {
  it.each([
    ['empty', ''],
    ['blanks', '  \t\r\n '],
    ['escapes of JSON', '"\\/\b\f{}[],:'],
    ['other control characters', '\u0001\u001f\u007f\u0085'],
    ['beyond ASCII', 'Ἀλόη, алоэ, 芦荟, صبار'],
    ['beyond the BMP', '🌵🪴𝒜'],
    ['line separators', 'a\u2028b\u2029c'],
    ['noncharacters and a byte order mark', '\ufeff\ufffe\uffff\u{10ffff}'],
    ['not normalized', 'e\u0301 and \u00e9'],
    ['digits', '9007199254740993 1.5e3'],
    ['SQL', "'); DROP TABLE plants; --"],
    ['60,000 characters', 'x'.repeat(60_000)],
  ])('%s', async (_name, text) => {
    const id = BigInt(1000 + (await service.store.count()));
    const named = await service.client.create({ id, name: text });
    expect(named).toMatchObject({ status: 200, body: { name: text } });
    expect(named.body).not.toHaveProperty('tag');
    expect(await service.store.plant(id)).toEqual({ id, name: text, tag: null });
    // Half of the body's limit is for each field.
    const tag = text.slice(0, 30_000);
    const tagged = await service.client.create({ id: -id, name: 'tagged', tag });
    expect(tagged.body).toEqual({ name: 'tagged', tag });
    expect(await service.store.plant(-id)).toEqual({ id: -id, name: 'tagged', tag });
  });

  it('reads escapes as the characters that they stand for', async () => {
    const text = String.raw`{"\u0069d":5000,"name":"\ud83c\udf35 \u00fc\n","tag":"\/"}`;
    const { body } = await service.client.post(text);
    expect(body).toEqual({ name: '🌵 ü\n', tag: '/' });
    expect(await service.store.plant(5000n)).toEqual({ id: 5000n, name: '🌵 ü\n', tag: '/' });
  });
});
