import { afterAll, describe, expect, it } from '@jest/globals';
import { service, startService } from '../support/own.js';

startService({ DATABASE_TIMEOUT: '60s' });

/** Removes all plants after each test. */
const empty = () => service.store.execute('DELETE FROM plants');

// Any id and any text: plants.property.spec.ts.
describe('POST /plants keeps the id to its last digit', () => {
  afterAll(empty);

  const texts: [literal: string, id: bigint][] = [
    ['0', 0n],
    ['-0', 0n],
    ['7.0', 7n],
    ['7e2', 700n],
    ['9007199254740992', 9007199254740992n],
    ['9.007199254740993e15', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    ['9.223372036854775807e18', 9223372036854775807n],
    ['92233720368547758070e-1', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
  ];
  it.each(texts)('%s', async (literal, id) => {
    // All have the same name, as some literals are the same id.
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
  afterAll(empty);

  it.each([
    ['noncharacters and a byte order mark', '\ufeff\ufffe\uffff\u{10ffff}'],
    ['not normalized', 'e\u0301 and \u00e9'],
    ['SQL', "'); DROP TABLE plants; --"],
    ['60,000 characters', 'x'.repeat(60_000)],
  ])('%s', async (_name, text) => {
    const id = BigInt(1000 + (await service.store.count()));
    const named = await service.client.create({ id, name: text });
    expect(named).toMatchObject({ status: 200, body: { name: text } });
    expect(named.body).not.toHaveProperty('tag');
    expect(await service.store.plant(id)).toEqual({ id, name: text, tag: null });
    // Each field gets half of the body's limit.
    const tag = text.slice(0, 30_000);
    const tagged = await service.client.create({ id: -id, name: 'tagged', tag });
    expect(tagged.body).toEqual({ name: 'tagged', tag });
    expect(await service.store.plant(-id)).toEqual({ id: -id, name: 'tagged', tag });
  });

  it('decodes escaped characters', async () => {
    const text = String.raw`{"\u0069d":5000,"name":"\ud83c\udf35 \u00fc\n","tag":"\/"}`;
    const { body } = await service.client.post(text);
    expect(body).toEqual({ name: '🌵 ü\n', tag: '/' });
    expect(await service.store.plant(5000n)).toEqual({ id: 5000n, name: '🌵 ü\n', tag: '/' });
  });
});

describe('what is beyond the schema is dropped', () => {
  afterAll(empty);

  it.each([
    ['an id further in', '{"a":{"id":9007199254740993},"id":2,"b":[{"id":1.5}],"name":"oak"}', 2n],
    ['fractions elsewhere', '{"x":1.5e-3,"id":9007199254740993,"name":"oak"}', 9007199254740993n],
    ['__proto__', '{"__proto__":{"tag":"t","id":8},"id":4,"name":"oak"}', 4n],
    ['toJSON', '{"toJSON":"x","hasOwnProperty":1,"id":6,"name":"oak"}', 6n],
    ['access_token', '{"access_token":"x","id":7,"name":"oak"}', 7n],
    [
      'text that would be refused in a name',
      '{"unknown":"\\u0000\\ud800","id":11,"name":"oak"}',
      11n,
    ],
    ['deep nesting', `{"x":${'['.repeat(99)}${']'.repeat(99)},"id":12.0,"name":"oak"}`, 12n],
    ['the same id again', '{"id":20,"id":20.0,"name":"oak"}', 20n],
    ['the same name again', '{"id":21,"name":"oak","n\\u0061me":"oak"}', 21n],
    ['one field twice', '{"id":22,"x":[{"y":1}],"name":"oak","x":[{"y":1}]}', 22n],
  ])('%s', async (_name, text, id) => {
    const { status, text: sent } = await service.client.post(text);
    expect({ status, sent }).toEqual({ status: 200, sent: '{"name":"oak"}' });
    expect(await service.store.plant(id)).toEqual({ id, name: 'oak', tag: null });
  });
});

describe('the same id again', () => {
  const taken = {
    status: 400,
    body: {
      error: 1004,
      message: 'the id already exists with different content, and plants cannot be changed',
    },
  };
  const plants: [name: string, first: object, second: object, same: boolean][] = [
    ['the same name and tag', { name: 'a', tag: 'b' }, { tag: 'b', name: 'a' }, true],
    ['empty texts', { name: '', tag: '' }, { name: '', tag: '' }, true],
    ['the same, and another field', { name: 'a' }, { name: 'a', more: 1 }, true],
    ['another name', { name: 'a' }, { name: 'b' }, false],
    ['another normal form', { name: '\u00e9' }, { name: 'e\u0301' }, false],
    ['a tag more', { name: 'a' }, { name: 'a', tag: 'b' }, false],
    ['a tag less', { name: 'a', tag: 'b' }, { name: 'a' }, false],
    ['an empty tag instead of none', { name: 'a' }, { name: 'a', tag: '' }, false],
  ];
  it.each(plants)('with %s', async (_name, first, second, same) => {
    const id = BigInt(100 + (await service.store.count()));
    const send = (plant: object) =>
      service.client.post(JSON.stringify({ ...plant, id: Number(id) }));
    const { status, body } = await send(first);
    expect(status).toBe(200);
    const before = await service.store.plants();
    const again = await send(second);
    expect({ status: again.status, body: again.body }).toEqual(same ? { status, body } : taken);
    expect(await service.store.plants()).toEqual(before);
    expect(await send(first)).toMatchObject({ status, body });
  });
});
