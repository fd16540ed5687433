/** @engine sqlite */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { parse } from 'yaml';
import { contract, dereference, withoutAdditions } from '../support/contract.js';
import { GuidedCopy } from '../support/guides.js';
import {
  isObject,
  pointerTo,
  published,
  read,
  valueAt,
  type Json,
  type JsonObject,
} from '../support/published.js';

/** What a document must be besides its additions: the contract. */
const EXPECTED = { rest: dereference(contract), unused: [] };

describe('openapi.json', () => {
  it('equals the contract, except for the listed additions', () => {
    expect(withoutAdditions(published)).toEqual(EXPECTED);
  });

  it('has one server, with a scheme and a host: some tools cannot read a relative one', () => {
    expect(published.servers).toMatchObject([{ url: 'http://127.0.0.1:3000' }]);
  });

  it.each(['openapi.json', 'contract/openapi.yaml'])('%s is valid OpenAPI 3.1', async (path) => {
    const validator = new Validator();
    const document = parse(read(path)) as Record<string, unknown>;
    expect(await validator.validate(document)).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });
});

/** The operations of the contract, as `METHOD /path`, with those of the published document. */
const OPERATIONS = Object.entries(contract.paths as JsonObject).flatMap(([path, methods]) =>
  Object.keys(methods as JsonObject).map((method) => ({
    name: `${method.toUpperCase()} ${path}`,
    responses: valueAt(published, `${pointerTo('/paths', path)}/${method}/responses`) as JsonObject,
  })),
);

describe.each(OPERATIONS)('$name', ({ name, responses }) => {
  it.each(Object.entries(responses))('has the id of the request in its %s', (_status, response) => {
    expect(valueAt(response, '/headers/X-Request-Id/required')).toBe(true);
  });

  it('is described in docs/api.md', () => expect(read('docs/api.md')).toContain(`\`${name}\``));
});

const POST = '/paths/~1plants/post';
const PLANT = '/components/schemas/Plant';
const NEW_PLANT = '/components/schemas/NewPlant';

/** A copy of the published document with another value at a JSON pointer; undefined removes it. */
function changed(pointer: string, value: Json | undefined): JsonObject {
  // structuredClone's objects are Node's, not of Jest's context: never deeply equal to others here.
  const copy = JSON.parse(JSON.stringify(published)) as JsonObject;
  const parent = valueAt(copy, parentOf(pointer));
  const name = pointer.slice(pointer.lastIndexOf('/') + 1).replaceAll('~1', '/');
  if (!isObject(parent)) throw new Error(`there is nothing at ${parentOf(pointer)}`);
  if (value === undefined) Reflect.deleteProperty(parent, name);
  else parent[name] = value;
  return copy;
}

function parentOf(pointer: string): string {
  return pointer.slice(0, pointer.lastIndexOf('/'));
}

describe('withoutAdditions()', () => {
  it('leaves no difference in the order of parameters', () => {
    const [a, b] = [
      { name: 'a', in: 'query' },
      { in: 'query', name: 'b' },
    ];
    expect(dereference({ parameters: [a, b] })).toEqual(dereference({ parameters: [b, a] }));
  });

  it.each<[string, Json | undefined]>([
    [`${POST}/responses/201`, { description: 'x' }],
    [`${POST}/responses/200/headers`, {}],
    [`${POST}/requestBody/content/text~1xml`, {}],
    [`${POST}/parameters`, [{ in: 'query', name: 'q' }]],
    [`${POST}/security`, undefined],
    [`${POST}/security`, [{ bearerAuth: [] }, {}]],
    ['/paths/~1plants/get', { responses: {} }],
    ['/paths/~1health', {}],
    ['/webhooks', {}],
    [`${NEW_PLANT}/properties/id/minimum`, 0],
    [`${PLANT}/additionalProperties`, false],
    [`${PLANT}/properties/name/type`, undefined],
    // Fields with the names of permitted additions, or of members of a schema.
    [`${PLANT}/properties/description`, {}],
    [`${PLANT}/properties/examples`, {}],
    [`${PLANT}/properties/required`, false],
    // Additions of another shape.
    [`${POST}/responses/401/headers`, undefined],
    [`${POST}/responses/503/content/application~1json/schema`, { $ref: `#${PLANT}` }],
    // A wrong schema, which is right elsewhere.
    [`${POST}/responses/200/content/application~1json/schema`, { $ref: `#${NEW_PLANT}` }],
  ])('leaves a difference when %s is %j', (pointer, value) => {
    expect(withoutAdditions(changed(pointer, value))).not.toEqual(EXPECTED);
  });
});

it('a field that is added by the guide is in the document as in the contract', async () => {
  const copy = new GuidedCopy(['A new field of a plant']);
  const readCopy = (path: string) =>
    parse(readFileSync(join(copy.folder, path), 'utf8')) as JsonObject;
  try {
    const emit = ['dist/src/emit-openapi.js'];
    await promisify(execFile)(process.execPath, emit, { cwd: copy.folder });
    expect(withoutAdditions(readCopy('openapi.json'))).toEqual({
      rest: dereference(readCopy('contract/openapi.yaml')),
      unused: [],
    });
  } finally {
    copy.remove();
  }
});
