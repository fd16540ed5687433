/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ERRORS, ApiException } from '../errors/error-codes.js';
import { parseJson } from '../http/json-body.js';
import { NewPlantPipe } from './new-plant.pipe.js';

const parseNewPlant = (text: string) => new NewPlantPipe().transform(parseJson(Buffer.from(text)));

/** The fault that a text throws. */
function faultOf(text: string): unknown {
  try {
    parseNewPlant(text);
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('NewPlantPipe', () => {
  it('makes a NewPlant of the fields that the schema has', () => {
    expect(parseNewPlant('{"id":7,"name":"oak","other":1}')).toEqual({ id: 7n, name: 'oak' });
    const tagged = { id: 7n, name: 'oak', tag: '' };
    expect(parseNewPlant('{"tag":"","id":7,"name":"oak"}')).toEqual(tagged);
  });

  it.each([
    '{"id":9007199254740993,"name":"a"}',
    '{ "id" : 9007199254740993 , "name" : "a" }',
    '{"id":9.007199254740993e15,"name":"a"}',
    '{"n":"\\\\\\"1.5","id":9007199254740993,"name":"a"}',
    '{"n":[-1.5e-3,{"id":0}],"name":"a","id":9007199254740993}',
    '{"id":9007199254740993,"id":9007199254740993.0,"name":"a"}',
    '{"i\\u0064":9007199254740993,"name":"a"}',
    '{"__proto__":{"id":0.5},"id":9007199254740993,"name":"a"}',
  ])('reads the id of %s from its digits', (text) => {
    expect(parseNewPlant(text)).toMatchObject({ id: 9007199254740993n, name: 'a' });
  });

  it('leaves digits in texts as they are', () => {
    const plant = { name: '1.5 and -7e2', tag: '"9007199254740993"' };
    const text = JSON.stringify({ ...plant, id: 7 }).replace(':7', ':70e-1');
    expect(parseNewPlant(text)).toMatchObject({ ...plant, id: 7n });
  });

  it.each(['7', '7.0', '70e-1'])('reads an id of %s beside deep nesting', (id) => {
    const deep = `${'['.repeat(1_000)}${']'.repeat(1_000)}`;
    expect(parseNewPlant(`{"n":${deep},"id":${id},"name":"a"}`).id).toBe(7n);
  });

  it.each([
    ['null', 'null', 'null'],
    ['true', 'true', 'true'],
    ['"7"', 'the string "7"', ''],
    [`"${'7'.repeat(50)}"`, `the string "${'7'.repeat(39)}...`, ''],
    [`"${'7'.repeat(38)}🌵"`, `the string "${'7'.repeat(38)}...`, ''],
    [`"plant_${'aB3'.repeat(13)}"`, 'the string "[redacted]...', ''],
    ['1.5', '1.5', '1.5'],
    ['9223372036854775808', '9223372036854775808', '9223372036854775808'],
    ['[7]', 'an array', 'an array'],
    ['{"id":7}', 'an object', 'an object'],
  ])('says that it was sent %s', (value, asId, asName) => {
    const fault = faultOf(`{"id":${value},"name":${value}}`) as ApiException;
    expect(fault.message.split('; ')).toEqual([
      `id must be an integer from -2^63 to 2^63-1, not ${asId}`,
      ...(asName === '' ? [] : [`name must be a string, not ${asName}`]),
    ]);
  });

  it('throws INVALID_PLANT with every reason', () => {
    const fault = faultOf('{"id":1.5,"tag":"\\u0000"}') as ApiException;
    expect(fault.kind).toBe(ERRORS.INVALID_PLANT);
    expect(fault.message.split('; ').sort()).toEqual([
      'id must be an integer from -2^63 to 2^63-1, not 1.5',
      'name is missing',
      'tag must not contain U+0000 or unpaired surrogates',
    ]);
  });

  it('throws only INVALID_JSON and INVALID_PLANT, whatever the text', () => {
    const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.json());
    fc.assert(
      fc.property(texts, (text) => {
        const fault = faultOf(text);
        expect(fault).toBeInstanceOf(ApiException);
        expect([ERRORS.INVALID_JSON, ERRORS.INVALID_PLANT]).toContain((fault as ApiException).kind);
      }),
    );
  });

  it('reads an id after 1 MB of escapes, the longest body that can be configured', () => {
    const name = 'a\n'.repeat((2 ** 20 - 50) / 3);
    const text = JSON.stringify({ name, id: 7 }).replace(':7}', ':7.0}');
    expect(parseNewPlant(text).id).toBe(7n);
  });
});
