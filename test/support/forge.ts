import { createHmac, createPrivateKey, sign, type BinaryLike, type KeyObject } from 'node:crypto';
import type { SigningKey } from './signing-key.js';

/** A header and claims, which may be anything: as text they go as they are. */
export type Part = object | string;

/** A JSON Web Token, signed by whatever is given: jose would refuse to make most of these. */
export function forge(header: Part, claims: Part, signer: (input: Buffer) => Buffer): string {
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${signer(Buffer.from(input)).toString('base64url')}`;
}

/** Signs as ES256 does (RFC 7518, section 3.4). */
export function byKey({ privateJwk }: SigningKey): (input: Buffer) => Buffer {
  const key: KeyObject = createPrivateKey({ key: privateJwk, format: 'jwk' });
  return (input) => sign('sha256', input, { key, dsaEncoding: 'ieee-p1363' });
}

/** Signs as HS256, HS384 and HS512 do (RFC 7518, section 3.2). */
export function bySecret(secret: BinaryLike, bits = 256): (input: Buffer) => Buffer {
  return (input) => createHmac(`sha${bits}`, secret).update(input).digest();
}

function encode(part: Part): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
}
