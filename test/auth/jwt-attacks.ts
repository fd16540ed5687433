import { HEADER, seconds, type Forger } from '../support/forger.js';
import { AUDIENCE } from '../support/identity-provider.js';

/** The title of a token's test, and how the token is made. */
export type NamedToken = readonly [name: string, token: (f: Forger) => string];

const NOTHING = Buffer.alloc(0);

/** For each last character of a 64-byte signature, the one that differs in an unused bit. */
const BIT: Readonly<Record<string, string>> = { A: 'B', Q: 'R', g: 'h', w: 'x' };

const last = (token: string): string => token.slice(token.lastIndexOf('.') + 1);

/** Invalid tokens, by the part that has the flaw. */
export const ATTACKS: Readonly<Record<string, readonly NamedToken[]>> = {
  'the algorithm': [
    ...['none', 'None', 'NONE', 'nOnE', ''].map((alg): NamedToken => [
      `"${alg}", and no signature`,
      (f) => f.withSignature(NOTHING, { ...HEADER, alg }),
    ]),
    ['none, with a signature', (f) => f.signed({}, { alg: 'none' })],
    ['missing', (f) => f.withSignature(NOTHING, { kid: 'ES256' })],
    ['HS256 with the public key in PEM', (f) => f.confused(f.publicKey('pem'))],
    ['HS384 with the public key in PEM', (f) => f.confused(f.publicKey('pem'), 384)],
    ['HS512 with the public key in PEM', (f) => f.confused(f.publicKey('pem'), 512)],
    [
      'HS256 with the PEM without its last line end',
      (f) => f.confused(f.publicKey('pem').toString().trim()),
    ],
    ['HS256 with the public key in DER', (f) => f.confused(f.publicKey('der'))],
    ['HS256 with the public JWK', (f) => f.confused(JSON.stringify(f.publicJwk))],
    ['HS256 with an empty secret', (f) => f.confused('')],
    ['not the one of the key', (f) => f.signed({}, { alg: 'ES384' })],
    ['of another kind of key', (f) => f.signed({}, { alg: 'RS256' })],
    ['unknown', (f) => f.signed({}, { alg: 'ES256K' })],
    ['not a string', (f) => f.signed({}, { alg: ['ES256'] })],
  ],
  'the key': [
    ['the attacker’s, under a known id', (f) => f.strange()],
    ['the attacker’s, without an id', (f) => f.strange({ kid: undefined })],
    ['of an unknown id', (f) => f.signed({}, { kid: 'unknown' })],
    ['of an id that is a path', (f) => f.signed({}, { kid: '../../../../dev/null' })],
    ['of an id that is SQL', (f) => f.signed({}, { kid: "x' UNION SELECT 'ES256" })],
    ['of an id that is not a string', (f) => f.signed({}, { kid: 1 })],
    ['at an address in jku', (f) => f.strange({ jku: f.trapUrl })],
    ['at an address in jku, of an unknown id', (f) => f.strange({ jku: f.trapUrl, kid: 'trap' })],
    ['at an address in x5u', (f) => f.strange({ x5u: f.trapUrl })],
    ['at an address in kid', (f) => f.strange({ kid: f.trapUrl })],
    ['in jwk', (f) => f.strange({ jwk: f.stranger.publicJwk })],
    ['in jwk, without an id', (f) => f.strange({ jwk: f.stranger.publicJwk, kid: undefined })],
    ['in x5c', (f) => f.strange({ x5c: [f.publicKey('der').toString('base64')] })],
  ],
  'the signature': [
    ['of zeros', (f) => f.withSignature(Buffer.alloc(64))],
    [
      'of another token',
      (f) => `${f.signed().split('.', 2).join('.')}.${last(f.signed({ jti: '2' }))}`,
    ],
    ['that is missing', (f) => `${f.signed().split('.', 2).join('.')}.`],
    ['that is cut short', (f) => f.signed().slice(0, -4)],
    ['with more characters after it', (f) => `${f.signed()}AAAA`],
    ['with padding', (f) => `${f.signed()}==`],
    ['with unused bits set at its end', (f) => f.signed().replace(/.$/, (c) => BIT[c] ?? '!')],
  ],
  'the issuer': [
    ['is another', (f) => f.signed({ iss: 'https://id.example' })],
    ['ends with a slash', (f) => f.signed({ iss: `${f.issuer}/` })],
    ['is a list', (f) => f.signed({ iss: [f.issuer] })],
    ['is missing', (f) => f.signed({ iss: undefined })],
  ],
  'the audience': [
    ['is another', (f) => f.signed({ aud: 'https://other.example' })],
    ['ends with a slash', (f) => f.signed({ aud: `${AUDIENCE}/` })],
    ['is a list of others', (f) => f.signed({ aud: ['nursery', 'https://other.example'] })],
    ['is an empty list', (f) => f.signed({ aud: [] })],
    ['is an object member', (f) => f.signed({ aud: { [AUDIENCE]: true } })],
    ['is missing', (f) => f.signed({ aud: undefined })],
    ['is the client, as in an ID token', (f) => f.signed({ aud: 'nursery', nonce: '1' })],
  ],
  'the time': [
    ['has expired', (f) => f.signed({ exp: seconds(-31) })],
    ['expired long ago', (f) => f.signed({ exp: 0 })],
    ['has no expiry', (f) => f.signed({ exp: undefined })],
    ['has an expiry that is a string', (f) => f.signed({ exp: String(seconds(600)) })],
    ['has an expiry that is null', (f) => f.signed({ exp: null })],
    ['is not valid yet', (f) => f.signed({ nbf: seconds(60) })],
    ['has a start that is a string', (f) => f.signed({ nbf: '0' })],
  ],
  'the subject': [
    ['is missing', (f) => f.signed({ sub: undefined })],
    ['is empty', (f) => f.signed({ sub: '' })],
    ['is a number', (f) => f.signed({ sub: 1 })],
    ['has a line end', (f) => f.signed({ sub: 'nursery\n' })],
    ['has U+0000', (f) => f.signed({ sub: 'nursery\0' })],
    ['has characters outside ASCII', (f) => f.signed({ sub: 'gärtnerei' })],
    ['has an unpaired surrogate', (f) => f.signed({ sub: '\ud800' })],
    ['is too long', (f) => f.signed({ sub: 'x'.repeat(256) })],
    ['is bound to a key (cnf)', (f) => f.signed({ cnf: { jkt: 'x' } })],
  ],
  'the header': [
    ...['logout+jwt', 'secevent+jwt', 'dpop+jwt', 'id+jwt', 'jose', 1, null].map(
      (typ): NamedToken => [`has the type ${typ}`, (f) => f.signed({}, { typ })],
    ),
    ['has a critical parameter', (f) => f.signed({}, { crit: ['exp'], exp: seconds(600) })],
    ['has a critical parameter that is missing', (f) => f.signed({}, { crit: ['x'] })],
    ['has an empty list of critical parameters', (f) => f.signed({}, { crit: [] })],
    [
      'has a string as the list of critical parameters',
      (f) => f.signed({}, { crit: 'b64', b64: true }),
    ],
    ['declares unencoded claims', (f) => f.signed({}, { crit: ['b64'], b64: false })],
    ['is a list', (f) => f.signedAs('[]', f.claims())],
    ['is null', (f) => f.signedAs('null', f.claims())],
    ['is not JSON', (f) => f.signedAs('{', f.claims())],
    ['is empty', (f) => f.signedAs('', f.claims())],
  ],
  'the claims': [
    ['are a list', (f) => f.signedAs(HEADER, '[]')],
    ['are a string', (f) => f.signedAs(HEADER, '"x"')],
    ['are not JSON', (f) => f.signedAs(HEADER, '{')],
    ['are empty', (f) => f.signedAs(HEADER, '')],
  ],
  'the form': [
    ['without a signature', (f) => f.signed().split('.', 2).join('.')],
    ['with an extra part', (f) => `${f.signed()}.${last(f.signed())}`],
    ['that looks encrypted', (f) => `${f.signed()}.AAAA.AAAA`],
    ['with an empty part', (f) => f.signed().replace(/\..*\./, '..')],
    ['in standard base64', (f) => f.signed().replaceAll('-', '+').replaceAll('_', '/').concat('=')],
    ['in JSON', () => JSON.stringify({ protected: 'e30', payload: 'e30', signature: 'AAAA' })],
    ['with a space in it', (f) => f.signed().replace('.', ' .')],
    ['of 12,000 characters', (f) => f.signed({ more: 'x'.repeat(8_800) }, { kid: 'unknown' })],
  ],
};
