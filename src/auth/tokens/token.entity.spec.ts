/** @engine sqlite */
import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createSecret, hashToken, hasSecretForm, isActive, Token } from './token.entity.js';

/** A secret of no store: issued secrets must stay valid from release to release. */
const KNOWN = 'plant_VAJQlawvy4z8HVxVz8DmmUp4xnqVj6cT0lPFDs';
const BASE_62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('a secret', () => {
  it('that was issued by an earlier release is valid', () =>
    expect(hasSecretForm(KNOWN)).toBe(true));

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
    ['', 'empty'],
    ['plant_', 'the prefix alone'],
    [KNOWN.slice(0, -1), 'cut short'],
    [`${KNOWN}0`, 'with more behind it'],
    [` ${KNOWN}`, 'with a blank before it'],
    [`${KNOWN}\n`, 'with a line end behind it'],
    [KNOWN.replace('plant_', 'Plant_'), 'with another prefix'],
    [`plant_${'0'.repeat(38)}`, 'with a checksum that is wrong'],
  ])('%j, %s, is invalid', (text) => expect(hasSecretForm(text)).toBe(false));

  it('with one character changed is invalid', () => {
    for (const [at, right] of Array.from(KNOWN).entries()) {
      for (const to of Array.from(`${BASE_62} \n\0\ud800é🌳`).filter((one) => one !== right))
        expect(hasSecretForm(KNOWN.slice(0, at) + to + KNOWN.slice(at + 1))).toBe(false);
    }
  });

  it('with two neighbouring characters swapped is invalid', () => {
    for (let at = 0; at < KNOWN.length - 1; at++) {
      const [a = '', b = ''] = KNOWN.slice(at, at + 2);
      const swapped = KNOWN.slice(0, at) + b + a + KNOWN.slice(at + 2);
      expect(hasSecretForm(swapped)).toBe(a === b);
    }
  });

  it('is hashed by SHA-256, in hexadecimal digits', () => {
    expect(hashToken(KNOWN)).toBe(createHash('sha256').update(KNOWN).digest('hex'));
  });
});

describe('isActive', () => {
  const at = (ms: number) => new Date(ms);
  it.each([
    ['forever', { expiresAt: null, revokedAt: null }, true],
    ['until its end', { expiresAt: at(1001), revokedAt: null }, true],
    ['not at its end', { expiresAt: at(1000), revokedAt: null }, false],
    ['not after its end', { expiresAt: at(999), revokedAt: null }, false],
    ['not once it is revoked', { expiresAt: null, revokedAt: at(0) }, false],
  ])('a token is active %s', (_name, times, expected) => {
    expect(isActive(Object.assign(new Token(), times), 1000)).toBe(expected);
  });
});
