import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { parse } from 'yaml';
import { differences } from './support/differences.js';
import { additions, contract, published, read } from './support/published.js';
import { Service } from './support/service.js';

describe('openapi.json', () => {
  it('says what the contract says, and beyond it only what the additions name', () => {
    expect(differences(contract, published, additions)).toEqual([]);
  });

  it.each(['openapi.json', 'contract/openapi.yaml'])('%s is valid OpenAPI 3.1', async (path) => {
    const validator = new Validator();
    const document = parse(read(path)) as Record<string, unknown>;
    expect(await validator.validate(document)).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });
});

describe('the service', () => {
  let service: Service;
  beforeAll(async () => void (service = await Service.start()));
  afterAll(() => service.stop());

  async function get(path: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`);
    return response.text();
  }

  it('serves openapi.json; `npm run openapi` writes it anew', async () => {
    const document: unknown = JSON.parse(await get('/openapi.json'));
    expect(read('openapi.json')).toBe(`${JSON.stringify(document, null, 2)}\n`);
  });

  it('serves the same document as YAML', async () => {
    expect(parse(await get('/openapi.yaml'))).toEqual(published);
  });
});
