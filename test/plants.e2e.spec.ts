import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Service } from './support/service.js';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

/** Leaves no plant to the next tests. */
const empty = () => service.store.execute('DELETE FROM plants');

describe('POST /plants keeps the id to its last digit', () => {
  afterAll(empty);

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
  afterAll(empty);

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

describe('fields beyond the schema are dropped', () => {
  afterAll(empty);

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
  afterAll(empty);

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

const INT64 = 'id must be an integer from -2^63 to 2^63-1';
const NAME = 'name must be a string';
const TAG = 'tag must be a string';
const NAME_TEXT = 'name must not contain U+0000 or unpaired surrogates';
const TAG_TEXT = 'tag must not contain U+0000 or unpaired surrogates';
const OBJECT = 'the body must be a JSON object';

/** Every message is of the same error: 1003. */
const bodies: [body: string, message: string][] = [
  ['{"name":"oak"}', INT64],
  ['{"id":null,"name":"oak"}', INT64],
  ['{"id":true,"name":"oak"}', INT64],
  ['{"id":"7","name":"oak"}', INT64],
  ['{"id":"","name":"oak"}', INT64],
  ['{"id":[7],"name":"oak"}', INT64],
  ['{"id":{"id":7},"name":"oak"}', INT64],
  ['{"id":{},"name":"oak"}', INT64],
  ['{"id":1.5,"name":"oak"}', INT64],
  ['{"id":1.00000000000000001,"name":"oak"}', INT64],
  ['{"id":9007199254740993.00000000000000001,"name":"oak"}', INT64],
  ['{"id":1e-1,"name":"oak"}', INT64],
  ['{"id":1e-400,"name":"oak"}', INT64],
  ['{"id":9223372036854775808,"name":"oak"}', INT64],
  ['{"id":-9223372036854775809,"name":"oak"}', INT64],
  ['{"id":9223372036854775807.5,"name":"oak"}', INT64],
  ['{"id":9.3e18,"name":"oak"}', INT64],
  ['{"id":1e19,"name":"oak"}', INT64],
  ['{"id":1e400,"name":"oak"}', INT64],
  ['{"id":-1e999999999999999999,"name":"oak"}', INT64],
  ['{"id":1e-999999999999999999,"name":"oak"}', INT64],
  [`{"id":${'9'.repeat(400)},"name":"oak"}`, INT64],
  ['{"__proto__":{"id":7},"name":"oak"}', INT64],
  ['{"ID":7,"name":"oak"}', INT64],
  ['{"id":7}', NAME],
  ['{"id":7,"name":null}', NAME],
  ['{"id":7,"name":7}', NAME],
  ['{"id":7,"name":["oak"]}', NAME],
  ['{"id":7,"name":{"length":3}}', NAME],
  ['{"id":7,"__proto__":{"name":"oak"}}', NAME],
  ['{"id":7,"name":"\\u0000"}', NAME_TEXT],
  ['{"id":7,"name":"a\\u0000b"}', NAME_TEXT],
  ['{"id":7,"name":"\\ud800"}', NAME_TEXT],
  ['{"id":7,"name":"\\udf35\\ud83c"}', NAME_TEXT],
  ['{"id":7,"name":"a\\uDFFFb"}', NAME_TEXT],
  ['{"id":7,"name":"oak","tag":null}', TAG],
  ['{"id":7,"name":"oak","tag":7}', TAG],
  ['{"id":7,"name":"oak","tag":false}', TAG],
  ['{"id":7,"name":"oak","tag":[]}', TAG],
  ['{"id":7,"name":"oak","tag":"\\u0000"}', TAG_TEXT],
  ['{"id":7,"name":"oak","tag":"\\ud800x"}', TAG_TEXT],
  ['{"id":7,"name":"oak","tag":"oak","tag":null}', TAG],
  ['[]', OBJECT],
  ['[{"id":7,"name":"oak"}]', OBJECT],
  ['null', OBJECT],
  ['7', OBJECT],
  ['"oak"', OBJECT],
  ['true', OBJECT],
];

describe('a body that does not match the schema', () => {
  it.each(bodies)('%s', async (text, message) => {
    const { status, body } = await service.client.post(text);
    expect({ status, body }).toEqual({ status: 400, body: { error: 1003, message } });
    expect(await service.store.plants()).toEqual([]);
  });

  it.each([
    ['{}', [INT64, NAME]],
    ['{"id":1.5,"tag":null}', [INT64, NAME, TAG]],
    ['{"name":"\\ud800","tag":"\\u0000","id":7}', [NAME_TEXT, TAG_TEXT]],
  ])('%s: the message names every such field', async (text, reasons) => {
    const { status, body } = await service.client.post(text);
    const { error, message } = body as { error: number; message: string };
    expect({ status, error }).toEqual({ status: 400, error: 1003 });
    expect(message.split('; ').sort()).toEqual(reasons);
    expect(await service.store.plants()).toEqual([]);
  });
});

describe('a body that is not JSON', () => {
  const plant = '{"id":7,"name":"oak"}';
  const notJson: [name: string, body: string | Buffer][] = [
    ['empty', ''],
    ['blanks alone', ' \n'],
    ['a plant cut short', plant.slice(0, -1)],
    ['a plant and more', `${plant}x`],
    ['two plants', `${plant}\n${plant}`],
    ['a comma too many', '{"id":7,"name":"oak",}'],
    ['single quotes', "{'id':7,'name':'oak'}"],
    ['a comment', `/* plant */${plant}`],
    ['NaN', '{"id":NaN,"name":"oak"}'],
    ['a plus sign', '{"id":+7,"name":"oak"}'],
    ['a leading zero', '{"id":07,"name":"oak"}'],
    ['no digits behind the point', '{"id":7.,"name":"oak"}'],
    ['hexadecimal', '{"id":0x7,"name":"oak"}'],
    ['a bigint of JavaScript', '{"id":7n,"name":"oak"}'],
    ['a raw control character', '{"id":7,"name":"a\nb"}'],
    ['a form', 'id=7&name=oak'],
    ['a byte order mark (RFC 8259, section 8.1)', `\ufeff${plant}`],
    ['a wrong byte', Buffer.from('{"id":7,"name":"\xff"}', 'latin1')],
    ['half a character', Buffer.from('{"id":7,"name":"\xc3"}', 'latin1')],
    ['an overlong slash', Buffer.from('{"id":7,"name":"\xc0\xaf"}', 'latin1')],
    ['a surrogate in UTF-8', Buffer.from('{"id":7,"name":"\xed\xa0\x80"}', 'latin1')],
    ['a wrong byte in another field', Buffer.from('{"id":7,"name":"a","x":"\xff"}', 'latin1')],
    ['UTF-16', Buffer.from(plant, 'utf16le')],
    ['60,000 brackets', '['.repeat(60_000)],
  ];
  it.each(notJson)('%s', async (_name, text) => {
    const { status, body } = await service.client.post(text);
    const invalid = { error: 1000, message: 'the body is not valid JSON' };
    expect({ status, body }).toEqual({ status: 400, body: invalid });
    expect(await service.store.plants()).toEqual([]);
  });
});

it('takes deep nesting in a field beyond the schema', async () => {
  const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
  const { status } = await service.client.post(`{"x":${deep},"id":7.0,"name":"oak"}`);
  expect(status).toBe(200);
  expect(await service.store.plants()).toEqual([{ id: 7n, name: 'oak', tag: null }]);
});
