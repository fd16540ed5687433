/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { createSecret, hasSecretForm } from './token-secret.js';

/** A secret of no store: issued secrets must stay valid from release to release. */
const KNOWN = 'plant_VAJQlawvy4z8HVxVz8DmmUp4xnqVj6cT0lPFDs';
const BASE_62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('a secret', () => {
  it('is plant_, 32 random characters and a checksum of 6', () => {
    const secrets = Array.from({ length: 1000 }, createSecret);
    for (const secret of secrets) {
      expect(secret).toMatch(/^plant_[0-9A-Za-z]{38}$/);
      expect(hasSecretForm(secret)).toBe(true);
    }
    expect(new Set(secrets).size).toBe(1000);
    const random = secrets.map((secret) => secret.slice(6, 38)).join('');
    expect(new Set(random)).toEqual(new Set(BASE_62));
  });

  it.each([
    ['plant_', 'the prefix alone'],
    [` ${KNOWN}`, 'with a blank before it'],
    [`${KNOWN}\n`, 'with a line end behind it'],
  ])('%j, %s, is invalid', (text) => expect(hasSecretForm(text)).toBe(false));

  it('with one character changed is invalid', () => {
    expect(hasSecretForm(KNOWN)).toBe(true);
    for (const [at, right] of Array.from(KNOWN).entries()) {
      for (const to of Array.from(`${BASE_62} \n\0\ud800é🌳`).filter((one) => one !== right))
        expect(hasSecretForm(KNOWN.slice(0, at) + to + KNOWN.slice(at + 1))).toBe(false);
    }
  });
});
