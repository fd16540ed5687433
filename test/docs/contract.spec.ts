/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { parse } from 'yaml';
import { differences } from '../support/differences.js';
import {
  additions,
  contract,
  isObject,
  pointerTo,
  published,
  read,
  valueAt,
  type Json,
  type JsonObject,
} from '../support/published.js';

describe('openapi.json', () => {
  it('equals the contract, except for the listed additions', () => {
    expect(differences(contract, published, additions)).toEqual([]);
  });

  it.each(['openapi.json', 'contract/openapi.yaml'])('%s is valid OpenAPI 3.1', async (path) => {
    const validator = new Validator();
    const document = parse(read(path)) as Record<string, unknown>;
    expect(await validator.validate(document)).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });
});

const POST = '/paths/~1plants/post';
const PLANT = '/components/schemas/Plant';
const ID = '/components/schemas/NewPlant/properties/id';
const ERROR = '/components/schemas/Error';
const NEITHER = 'is neither in the contract nor an addition';

/** A copy of the published document with another value at a JSON pointer; undefined removes it. */
function changed(pointer: string, value: Json | undefined, document = published): JsonObject {
  const copy = structuredClone(document);
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

/** Pointers to everything but objects in the contract, except its security, which has another place. */
function leaves(value: Json = contract, at = ''): string[] {
  if (!isObject(value)) return at.startsWith('/security') ? [] : [at];
  return Object.entries(value).flatMap(([name, item]) => leaves(item, pointerTo(at, name)));
}

describe('differences', () => {
  it.each<[string, Json | undefined, string]>([
    [`${POST}/responses/400`, undefined, `${POST}/responses: lacks 400`],
    [`${POST}/responses/200`, undefined, `${POST}/responses: lacks 200`],
    [`${POST}/responses/201`, { description: 'x' }, `${POST}/responses/201: ${NEITHER}`],
    [`${POST}/responses/400/description`, 'x', `${POST}/responses/400/description: is "x"`],
    [`${POST}/responses/200/headers`, {}, `${POST}/responses/200/headers: lacks X-Request-Id`],
    [`${POST}/responses/200/links`, {}, `${POST}/responses/200/links: ${NEITHER}`],
    [`${POST}/requestBody/required`, undefined, `${POST}/requestBody: lacks required`],
    [`${POST}/requestBody/required`, false, `${POST}/requestBody: lacks required`],
    [
      `${POST}/requestBody/content/text~1xml`,
      {},
      `${POST}/requestBody/content/text~1xml: ${NEITHER}`,
    ],
    [`${POST}/parameters`, [{ in: 'query', name: 'q' }], `${POST}/parameters: ${NEITHER}`],
    [`${POST}/security`, undefined, `${POST}: lacks security`],
    [`${POST}/security`, [], `${POST}/security: lacks {"bearerAuth":[]}`],
    [`${POST}/security`, [{ bearerAuth: [] }, {}], `${POST}/security/{}: ${NEITHER}`],
    ['/paths/~1plants/get', { responses: {} }, `/paths/~1plants/get: ${NEITHER}`],
    ['/paths/~1health', {}, `/paths/~1health: ${NEITHER}`],
    ['/components/schemas/Other', {}, `/components/schemas/Other: ${NEITHER}`],
    ['/components/securitySchemes/bearerAuth/scheme', 'basic', '/components/securitySchemes/'],
    ['/webhooks', {}, `/webhooks: ${NEITHER}`],
    ['/info/version', '1.0.1', '/info/version: is "1.0.1", the contract says "1.0.0"'],
    [`${ID}/format`, 'int32', `${ID}/format: is "int32", the contract says "int64"`],
    [`${ID}/format`, undefined, `${ID}: lacks format`],
    [`${ID}/minimum`, 0, `${ID}/minimum: ${NEITHER}`],
    [`${ID}/type`, ['integer', 'null'], `${ID}/type: is ["integer","null"], the contract says`],
    [`${PLANT}/required`, ['name', 'tag'], `${PLANT}/required/"tag": ${NEITHER}`],
    [`${PLANT}/required`, ['tag'], `${PLANT}/required: lacks "name"`],
    [`${PLANT}/required`, [], `${PLANT}: lacks required`],
    [`${PLANT}/additionalProperties`, false, `${PLANT}/additionalProperties: ${NEITHER}`],
    [`${PLANT}/properties/tag`, undefined, `${PLANT}/properties: lacks tag`],
    [`${PLANT}/properties/label`, { type: 'string' }, `${PLANT}/properties/label: ${NEITHER}`],
    // Fields with the names of permitted additions, or of members with defaults.
    [`${PLANT}/properties/description`, {}, `${PLANT}/properties/description: ${NEITHER}`],
    [`${PLANT}/properties/examples`, {}, `${PLANT}/properties/examples: ${NEITHER}`],
    [`${PLANT}/properties/required`, false, `${PLANT}/properties/required: ${NEITHER}`],
    [`${ERROR}/properties/error/format`, 'int64', `${ERROR}/properties/error/format: is "int64"`],
  ])('names the place when %s is %j', (pointer, value, line) => {
    const found = differences(contract, changed(pointer, value), additions);
    expect(found).toContainEqual(expect.stringContaining(line));
  });

  it('names both fields when one is renamed', () => {
    const { name, tag } = valueAt(published, `${PLANT}/properties`) as JsonObject;
    const renamed = changed(`${PLANT}/properties`, { title: name ?? null, tag: tag ?? null });
    expect(differences(contract, renamed, additions)).toEqual(
      expect.arrayContaining([
        `${PLANT}/properties: lacks name`,
        `${PLANT}/properties/title: ${NEITHER}`,
      ]),
    );
  });

  it('names the use of a wrong schema, not the schema', () => {
    const schema = `${POST}/responses/200/content/application~1json/schema`;
    const withId = changed(schema, { $ref: '#/components/schemas/NewPlant' });
    expect(differences(contract, withId, additions)).toEqual([
      `${schema}/required/"id": ${NEITHER}`,
      `${schema}/properties/id: ${NEITHER}`,
    ]);
  });

  it.each(leaves())('notices when %s is missing or different', (pointer) => {
    for (const value of [undefined, 'something else']) {
      const found = differences(contract, changed(pointer, value), additions);
      expect(found).toContainEqual(expect.stringMatching(`^${parentOf(pointer)}`));
    }
  });

  it('checks the shape of an addition', () => {
    const headers = `${POST}/responses/401/headers`;
    expect(differences(contract, changed(headers, undefined), additions)).toContain(
      `${POST}/responses/401: lacks headers`,
    );
    const schema = `${POST}/responses/503/content/application~1json/schema`;
    const plant = changed(schema, { $ref: '#/components/schemas/Plant' });
    expect(differences(contract, plant, additions)).toContain(`${schema}/properties: lacks error`);
  });

  // The 401 of another operation with a token, once there is one, must be removed here too.
  it('names an addition that matches nothing', () => {
    const without401 = changed(`${POST}/responses/401`, undefined);
    expect(differences(contract, without401, additions)).toEqual([
      '/paths/*/*/responses/401: the addition "response 401" matches nothing',
    ]);
  });

  it.each<[string, JsonObject]>([
    ['members in another order', reversed(published)],
    ['a schema in place', inlined(`${POST}/requestBody/content/application~1json/schema`)],
    ['an added schema in place', inlined(`${POST}/responses/401/content/application~1json/schema`)],
    ['no empty list of parameters', changed(`${POST}/parameters`, undefined)],
    ['an explicit default', changed(`${POST}/deprecated`, false)],
    ['an open schema', changed(`${PLANT}/additionalProperties`, true)],
    [
      'the security of the operation on the whole document',
      changed('/security', [{ bearerAuth: [] }], changed(`${POST}/security`, undefined)),
    ],
  ])('accepts %s as equal', (_what, document) => {
    expect(document).not.toStrictEqual(published);
    expect(differences(contract, document, additions)).toEqual([]);
  });
});

function inlined(pointer: string): JsonObject {
  const { $ref } = valueAt(published, pointer) as { $ref: string };
  return changed(pointer, valueAt(published, $ref.slice(1)));
}

/** The document with the members of every object, and every list, in reverse. */
function reversed<T extends Json>(value: T): T;
function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => reversed(item)).reverse();
  if (!isObject(value)) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([name, item]) => [name, reversed(item)]));
}
