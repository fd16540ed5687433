import { hashOf, newSecret } from './secret.js';
import type { Token } from './token.entity.js';

/** A secret, which is nowhere to be had again, and what the store keeps of its token. */
export interface Issued {
  readonly secret: string;
  readonly row: Pick<Token, 'name' | 'hash' | 'createdAt' | 'expiresAt'>;
}

/**
 * Makes a token, which is not stored yet.
 *
 * @param lifetime milliseconds from now after which it no longer holds; for ever if left out
 */
export function issue(name: string, lifetime?: number): Issued {
  const secret = newSecret();
  const createdAt = new Date();
  const expiresAt = lifetime === undefined ? null : new Date(createdAt.getTime() + lifetime);
  return { secret, row: { name, hash: hashOf(secret), createdAt, expiresAt } };
}
