import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Service } from './support/service.js';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

describe('fields beyond the schema are dropped', () => {
  it.each([
    ['an unknown field', '{"id":1,"name":"oak","colour":"green"}', 1n],
    ['an id further in', '{"a":{"id":9007199254740993},"id":2,"b":[{"id":1.5}],"name":"oak"}', 2n],
    ['an id in a string', '{"note":"\\"id\\":5","id":3,"name":"oak"}', 3n],
    ['fractions elsewhere', '{"height":1.5e-3,"id":9007199254740993,"name":"oak"}', 2n ** 53n + 1n],
    ['__proto__', '{"__proto__":{"tag":"t","id":8},"id":4,"name":"oak"}', 4n],
    ['constructor', '{"constructor":{"prototype":{"tag":"t"}},"id":5,"name":"oak"}', 5n],
    ['toJSON', '{"toJSON":"x","hasOwnProperty":1,"id":6,"name":"oak"}', 6n],
    ['access_token', '{"access_token":"x","id":7,"name":"oak"}', 7n],
    ['a null', '{"Tag":null,"id":10,"name":"oak"}', 10n],
    ['text that would be refused in a name', '{"note":"\\u0000\\ud800","id":11,"name":"oak"}', 11n],
  ])('%s', async (_name, text, id) => {
    const { status, text: answer } = await service.client.post(text);
    expect({ status, answer }).toEqual({ status: 200, answer: '{"name":"oak"}' });
    expect(await service.store.plant(id)).toEqual({ id, name: 'oak', tag: null });
  });

  it.each([
    ['id', '{"id":1.5,"id":"x","id":20,"name":"last"}', 20n],
    ['name', '{"id":21,"name":null,"name":"last"}', 21n],
    ['tag', '{"id":22,"name":"last","tag":"first","tag":"last"}', 22n],
  ])('of two %ss the last counts', async (_name, text, id) => {
    expect(await service.client.post(text)).toMatchObject({ status: 200, body: { name: 'last' } });
    expect(await service.store.plant(id)).toMatchObject({ id, name: 'last' });
  });

  it('takes nothing from an object that the body has polluted', async () => {
    await service.client.post('{"__proto__":{"name":"polluted"},"id":30,"name":"oak"}');
    const { status } = await service.client.post('{"id":31}');
    expect(status).toBe(400);
    expect(await service.store.plant(31n)).toBeUndefined();
  });
});

describe('the same id again', () => {
  const taken = {
    status: 400,
    body: { error: 1004, message: 'the id already exists with different content' },
  };
  const plants: [name: string, first: object, second: object, same: boolean][] = [
    ['the same name', { name: 'a' }, { name: 'a' }, true],
    ['the same name and tag', { name: 'a', tag: 'b' }, { tag: 'b', name: 'a' }, true],
    ['empty texts', { name: '', tag: '' }, { name: '', tag: '' }, true],
    ['the same, and another field', { name: 'a' }, { name: 'a', more: 1 }, true],
    ['another name', { name: 'a' }, { name: 'b' }, false],
    ['another case', { name: 'a' }, { name: 'A' }, false],
    ['a blank more', { name: 'a' }, { name: 'a ' }, false],
    ['another normal form', { name: '\u00e9' }, { name: 'e\u0301' }, false],
    ['a tag more', { name: 'a' }, { name: 'a', tag: 'b' }, false],
    ['a tag less', { name: 'a', tag: 'b' }, { name: 'a' }, false],
    ['an empty tag for none', { name: 'a' }, { name: 'a', tag: '' }, false],
    ['no tag for an empty one', { name: 'a', tag: '' }, { name: 'a' }, false],
    ['name and tag swapped', { name: 'a', tag: 'b' }, { name: 'b', tag: 'a' }, false],
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
