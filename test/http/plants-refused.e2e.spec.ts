/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { service, startService } from '../support/own.js';

startService();

const INT64 = 'id must be an integer from -2^63 to 2^63-1';
const NO_ID = 'id is missing';
const NO_NAME = 'name is missing';
const NAME = 'name must be a string';
const TAG = 'tag must be a string';
const NAME_TEXT = 'name must not contain U+0000 or unpaired surrogates';
const TAG_TEXT = 'tag must not contain U+0000 or unpaired surrogates';
const OBJECT = 'the body must be a JSON object';

/** Bodies and the reasons in the message of each. A prototype that one has polluted would be seen in the next rows. */
const bodies: [body: string, ...reasons: string[]][] = [
  ['{"__proto__":{"id":7},"name":"oak"}', NO_ID],
  ['{"id":7,"__proto__":{"name":"oak"}}', NO_NAME],
  ['{"name":"oak"}', NO_ID],
  ['{"id":7}', NO_NAME],
  ['{"id":9007199254740993.00000000000000001,"name":"oak"}', INT64],
  ['{"id":1e-400,"name":"oak"}', INT64],
  ['{"id":-9223372036854775809,"name":"oak"}', INT64],
  ['{"id":1e400,"name":"oak"}', INT64],
  [`{"id":${'9'.repeat(400)},"name":"oak"}`, INT64],
  ['{"id":"7","name":"oak"}', `${INT64}, not a string`],
  ['{"id":[7],"name":{"id":7}}', INT64, NAME],
  ['{"id":7,"name":7}', NAME],
  ['{"id":7,"name":"\\u0000"}', NAME_TEXT],
  ['{"id":7,"name":"\\ud800"}', NAME_TEXT],
  ['{"id":7,"name":"oak","tag":null}', TAG],
  ['{"id":7,"name":"oak","tag":false}', TAG],
  ['{"id":7,"name":"oak","tag":"\\u0000"}', TAG_TEXT],
  ['{"id":7,"name":"oak","tag":"\\ud800x"}', TAG_TEXT],
  ['[{"id":7,"name":"oak"}]', OBJECT],
  ['null', OBJECT],
  ['{}', NO_ID, NO_NAME],
  ['{"id":1.5,"tag":null}', INT64, NO_NAME, TAG],
  ['{"name":"\\ud800","tag":"\\u0000","id":7}', NAME_TEXT, TAG_TEXT],
];

it.each(bodies)(
  '%s does not match the schema: the message names every wrong field',
  async (text, ...reasons) => {
    const { status, body } = await service.client.post(text);
    const { error, message } = body as { error: number; message: string };
    expect({ status, error, reasons: message.split('; ').sort() }).toEqual({
      status: 400,
      error: 1003,
      reasons,
    });
    expect(await service.store.plants()).toEqual([]);
  },
);

describe('a body that is not JSON', () => {
  const plant = '{"id":7,"name":"oak"}';
  /** With the position of the fault, in characters. */
  const notJson: [name: string, body: string | Buffer, at: number][] = [
    ['only blanks', ' \n', 2],
    ['a plant cut short', plant.slice(0, -1), 20],
    ['a wrong letter after characters of several bytes', '{"name":"木🌵",x', 14],
    ['a trailing comma', '{"id":7,"name":"oak",}', 21],
    ['single quotes', "{'id':7,'name':'oak'}", 1],
    ['a comment', `/* plant */${plant}`, 0],
    ['a leading zero', '{"id":07,"name":"oak"}', 7],
    ['a raw control character', '{"id":7,"name":"a\nb"}', 17],
    ['UTF-16', Buffer.from(plant, 'utf16le'), 1],
  ];
  it.each(notJson)('%s', async (_name, text, at) => {
    const position = new RegExp(`^the body is not valid JSON: .+ at position ${at}$`, 's');
    await expectInvalid(text, position);
  });

  it.each(['"tag":"oak","tag":null', '"x":1,"x":2', '"id":7,"\\u0069d":8'])(
    'a member twice with different values: %s',
    (members) => expectInvalid(`{"id":7,"name":"oak",${members}}`, / Duplicate key '\w+' /),
  );

  it('empty', () => expectInvalid('', 'the body is empty'));

  it('with a byte order mark (RFC 8259, section 8.1)', () =>
    expectInvalid(`\ufeff${plant}`, 'the body begins with a byte order mark: leave it out'));

  it.each([
    ['a wrong byte', '{"id":7,"name":"\xff"}'],
    ['an overlong slash', '{"id":7,"name":"\xc0\xaf"}'],
    ['a replacement character cut short', '"\xef\xbf'],
  ])('not UTF-8: %s', (_name, latin1) =>
    expectInvalid(Buffer.from(latin1, 'latin1'), 'the body is not valid UTF-8'),
  );

  async function expectInvalid(body: string | Buffer, message: string | RegExp): Promise<void> {
    const response = await service.client.post(body);
    expect(response).toMatchObject({ status: 400, body: { error: 1000 } });
    expect((response.body as { message: string }).message).toMatch(message);
    expect(await service.store.plants()).toEqual([]);
  }
});

describe('a body nested deeper than 100 levels, the plant itself being the first', () => {
  const nested = (levels: number, open = '[', close = ']') =>
    `{"id":7,"name":"oak","x":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}}`;

  it.each([
    ['arrays', nested(101)],
    ['objects', nested(101, '{"a":', '}')],
    ['60,000 brackets, which are not JSON', '['.repeat(60_000)],
    ['brackets behind what is not JSON', `{"id":07,"name":"oak"}${'{"a":['.repeat(51)}`],
  ])('%s: 1002', async (_name, body) => {
    const message = 'the body is nested deeper than 100 levels';
    const refusal = { status: 400, body: { error: 1002, message } };
    expect(await service.client.post(body)).toMatchObject(refusal);
    expect(await service.store.plants()).toEqual([]);
  });

  it.each([
    ['arrays', nested(100)],
    ['objects', nested(100, '{"a":', '}')],
    ['brackets in texts', String.raw`{"id":7,"name":"oak","x":["\"${'['.repeat(200)}"]}`],
    ['brackets side by side', nested(99).replace('1', `${'[],{},'.repeat(150)}1`)],
  ])('%s up to there: 200', async (_name, body) => {
    expect(await service.client.post(body)).toMatchObject({ status: 200 });
    await service.store.execute('DELETE FROM plants');
  });
});
