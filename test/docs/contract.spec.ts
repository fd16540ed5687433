/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { parse } from 'yaml';
import { differences } from '../support/differences.js';
import { additions, contract, published, read } from '../support/published.js';

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
