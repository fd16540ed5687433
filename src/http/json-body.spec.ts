/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ERRORS, Fault } from '../errors/errors.js';
import { findJsonFault, getSource, parseJson } from './json-body.js';

/** The fault that a text throws. */
function faultOf(text: string): unknown {
  try {
    parseJson(text);
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

describe('parseJson', () => {
  it('returns what JSON.parse returns, with the text of an object or a list beside it', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const body = parseJson(text);
        expect(JSON.stringify(body)).toBe(JSON.stringify(JSON.parse(text)));
        if (typeof body !== 'object' || body === null) return;
        expect(getSource(body)).toBe(text);
        expect(Object.keys(body)).toEqual(Object.keys(JSON.parse(text) as object));
      }),
    );
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

  it('reports errors in 1 MB, the longest body that can be configured', () => {
    const texts = ['['.repeat(2 ** 20), `["${'\\n'.repeat(2 ** 19)}`];
    const faults = texts.map((text) => (faultOf(text) as Fault).message);
    const { message } = ERRORS.INVALID_JSON;
    expect(faults).toEqual([message, `${message} at byte 1 of 1048578`]);
  });
});
