/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { JsonScan } from './json-scanner.js';

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

const blanks = fc.string({ unit: fc.constantFrom('\t', '\n', '\r', ' '), maxLength: 2 });

/** A string token; each of its characters is escaped or not. */
const quote = (content: fc.Arbitrary<string>) =>
  fc.tuple(content, fc.infiniteStream(fc.nat(3))).map(([text, ways]) => {
    const units = Array.from({ length: text.length }, (_, i) => text.charAt(i));
    const written = units.map((unit) => {
      const hex = unit.charCodeAt(0).toString(16).padStart(4, '0');
      const way = Number(ways.next().value);
      if (way === 2) return `\\u${hex}`;
      return way === 3 ? `\\u${hex.toUpperCase()}` : JSON.stringify(unit).slice(1, -1);
    });
    return `"${written.join('')}"`;
  });

const NAMES = ['id', 'name'] as const;
const key = quote(fc.oneof(fc.constantFrom(...NAMES, 'idd', 'i', '__proto__'), fc.string()));
const number = fc.oneof(
  fc.constantFrom('0', '-0', '1.0', '1.50e+3', '9007199254740993', '-2E-2', '1e999'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);
const pad = (text: fc.Arbitrary<string>) =>
  fc.tuple(blanks, text, blanks).map((parts) => parts.join(''));

/** Texts of JSON in every spelling. */
const { value: json } = fc.letrec<Record<'value' | 'members', string>>((tie) => ({
  value: pad(
    fc.oneof(
      { maxDepth: 4 },
      fc.oneof(
        fc.constantFrom('true', 'false', 'null'),
        number,
        quote(fc.string({ unit: 'binary' })),
      ),
      fc.array(tie('value'), { maxLength: 4 }).map((values) => `[${values.join()}]`),
      fc.array(tie('members'), { maxLength: 4 }).map((members) => `{${members.join()}}`),
    ),
  ),
  members: fc.tuple(pad(key), tie('value')).map((pair) => pair.join(':')),
}));

/** Texts that are nearly JSON: some characters are dropped, and others added. */
const broken = fc
  .tuple(
    json,
    fc.nat(),
    fc.nat(2),
    fc.constantFrom('', ...Array.from('{}[],:"\\\n-+.0eEtu \ufeff\u00a0\0')),
  )
  .map(([text, at, dropped, added]) => {
    const from = at % (text.length + 1);
    return text.slice(0, from) + added + text.slice(from + dropped);
  });

/** The texts that JSON.parse() reads numbers of a member from, or the member's value; by an object's own members. */
function readMember(text: string, name: string): { source?: string; value?: unknown } {
  const sources = new Map<unknown, string | undefined>();
  function note(this: unknown, key: string, value: unknown, context?: { source?: string }) {
    if (key === name) sources.set(this, context?.source);
    return value;
  }
  const root: unknown = JSON.parse(text, note);
  if (typeof root !== 'object' || root === null || !Object.hasOwn(root, name)) return {};
  const source = sources.get(root);
  return source === undefined ? { value: (root as Record<string, unknown>)[name] } : { source };
}

describe('JsonScan', () => {
  it('accepts exactly what JSON.parse() accepts', () => {
    fc.assert(
      fc.property(fc.oneof(json, broken, fc.json(), fc.string({ unit: 'binary' })), (text) => {
        expect(new JsonScan(text).fault === undefined).toBe(parseError(text) === undefined);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    '',
    '1.',
    '01',
    '-',
    '1e',
    '1e+',
    '.5',
    '+1',
    'tru',
    'nulll',
    '"\\x"',
    '"\\u12g4"',
    '"\\',
  ])('refuses %j', (text) => expect(new JsonScan(text).fault).toBeDefined());

  it('refuses control characters in a string, and no others', () => {
    const refused = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
      .filter((character) => new JsonScan(`"a${character}"`).fault !== undefined)
      .join('');
    const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join('');
    // A quote ends the string, and a backslash escapes the quote.
    expect(refused).toBe(`${controls}"\\`);
  });

  it('finds the offset that V8 reports, or the start of the token that V8 stopped in', () => {
    fc.assert(
      fc.property(broken, (text) => {
        const error = parseError(text);
        if (error === undefined) return;
        const fault = new JsonScan(text).fault ?? NaN;
        const before = parseError(text.slice(0, fault)) ?? { position: fault };
        expect(before.position ?? fault).toBe(fault);
        const read = text.slice(fault, error.position ?? fault);
        expect(read).toMatch(/^("[^]*|[\d.eE+-]*|[a-z]*)$/);
        if (error.token !== undefined) expect(text.slice(fault)).toContain(error.token);
      }),
      { numRuns: 5_000 },
    );
  });

  it('finds an error wherever it is', () => {
    const unit = '[{"a":1},"b",';
    const text = unit.repeat(10_000);
    expect(new JsonScan(`${text}}`).fault).toBe(text.length);
    expect(new JsonScan(text).fault).toBe(text.length);
    expect(new JsonScan(`${text}"${'\\n'.repeat(1_000)}`).fault).toBe(text.length);
  });

  it('finds the text of the last member of a name, as JSON.parse() does', () => {
    const members = fc.array(fc.tuple(pad(key), json), { maxLength: 6 });
    const objects = members.map((all) => `{${all.map((pair) => pair.join(':')).join()}}`);
    fc.assert(
      fc.property(pad(objects), fc.constantFrom(...NAMES), (text, name) => {
        const literal = new JsonScan(text, NAMES).literals?.[name];
        const { source, value } = readMember(text, name);
        if (source !== undefined) expect(literal).toBe(source);
        else if (value === undefined) expect(literal).toBeUndefined();
        else expect(JSON.parse(literal ?? '')).toEqual(value);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each(['idd', 'i', 'ID', '\\n0069d', 'i\\n0064', '\\u0069', '\\u0069dd'])(
    'takes the name "%s" for no other',
    (name) => expect(new JsonScan(`{"${name}":1}`, NAMES).literals).toEqual({}),
  );

  it.each(['[{"id":1}]', '["id",1]', '"id"', '1', '{"id":1}}', '{"id":1'])(
    'finds no member in %s',
    (text) => expect(new JsonScan(text, NAMES).literals).toBeUndefined(),
  );
});
