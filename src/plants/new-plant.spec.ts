/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ERRORS, Fault } from '../errors/errors.js';
import { findJsonFault, parseNewPlant } from './new-plant.js';

/** The fault that a text throws. */
function faultOf(text: string): unknown {
  try {
    parseNewPlant(text);
  } catch (error) {
    return error;
  }
  return undefined;
}

/** What V8's message has for a text that is not JSON: a position, or the token, or only that the text ends. */
function parseError(text: string): { position?: number; token?: string | undefined } | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const { message } = error as SyntaxError;
    const position = /at position (\d+)/.exec(message)?.[1];
    if (position !== undefined) return { position: Number(position) };
    if (message === 'Unexpected end of JSON input') return { position: text.length };
    return { token: /^Unexpected token '([^]+?)', /.exec(message)?.[1] };
  }
}

describe('parseNewPlant', () => {
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
    '{"id":"x","id":9007199254740993,"name":"a"}',
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

  it('throws INVALID_JSON with the offset of the error', () => {
    const message = 'the body is not valid JSON at byte 8 of 8';
    expect(faultOf('{"id":7,')).toEqual(new Fault(ERRORS.INVALID_JSON, message));
  });

  it('reports the offset that V8 reports, or the start of the token that V8 stopped in', () => {
    const change = fc.tuple(
      fc.nat(),
      fc.nat(2),
      fc.constantFrom('', ...Array.from('{}[],:"\\\n-.0et ')),
    );
    fc.assert(
      fc.property(fc.json(), change, (json, [at, dropped, added]) => {
        expect(findJsonFault(json) ?? json.length).toBe(json.length);
        const from = at % (json.length + 1);
        const text = json.slice(0, from) + added + json.slice(from + dropped);
        const error = parseError(text);
        if (error === undefined) return;
        const fault = findJsonFault(text) ?? NaN;
        const before = parseError(text.slice(0, fault)) ?? { position: fault };
        expect(before.position ?? fault).toBe(fault);
        const read = text.slice(fault, error.position ?? fault);
        expect(read).toMatch(/^("[^]*|[\d.eE+-]*|[a-z]*)$/);
        if (error.token !== undefined) expect(text.slice(fault)).toContain(error.token);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['7.0', '9007199254740993'])('refuses an id of %s under too deep a nesting', (id) => {
    const deep = `${'['.repeat(2 ** 19)}${']'.repeat(2 ** 19)}`;
    const fault = new Fault(ERRORS.INVALID_JSON, 'the body is nested too deeply');
    expect(faultOf(`{"n":${deep},"id":${id},"name":"a"}`)).toEqual(fault);
    expect(parseNewPlant(`{"n":${deep},"id":7,"name":"a"}`).id).toBe(7n);
  });

  it('throws INVALID_PLANT with every reason', () => {
    const fault = faultOf('{"id":1.5,"tag":"\\u0000"}') as Fault;
    expect(fault.kind).toBe(ERRORS.INVALID_PLANT);
    expect(fault.message.split('; ').sort()).toEqual([
      'id must be an integer from -2^63 to 2^63-1',
      'name is missing',
      'tag must not contain U+0000 or unpaired surrogates',
    ]);
  });

  it('throws only INVALID_JSON and INVALID_PLANT, whatever the text', () => {
    const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.json());
    fc.assert(
      fc.property(texts, (text) => {
        const fault = faultOf(text);
        expect(fault).toBeInstanceOf(Fault);
        expect([ERRORS.INVALID_JSON, ERRORS.INVALID_PLANT]).toContain((fault as Fault).kind);
      }),
    );
  });

  it('reports errors in 1 MB, the longest body that can be configured', () => {
    const texts = ['['.repeat(2 ** 20), `["${'\\n'.repeat(2 ** 19)}`];
    const faults = texts.map((text) => (faultOf(text) as Fault).message);
    const { message } = ERRORS.INVALID_JSON;
    expect(faults).toEqual([message, `${message} at byte 1 of 1048578`]);
  });

  it('reads an id after 1 MB of escapes, the longest body that can be configured', () => {
    const name = 'a\n'.repeat((2 ** 20 - 50) / 3);
    const text = JSON.stringify({ name, id: 7 }).replace(':7}', ':7.0}');
    expect(parseNewPlant(text).id).toBe(7n);
  });
});
