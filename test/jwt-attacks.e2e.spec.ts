import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { byKey, bySecret, forge, type Part } from './support/forge.js';
import { AUDIENCE, IdentityProvider } from './support/identity-provider.js';
import { Service } from './support/service.js';
import { SigningKey } from './support/signing-key.js';

const INVALID_TOKEN = {
  status: 401,
  challenge: 'Bearer realm="plant-store", error="invalid_token"',
  body: { error: 2001, message: 'the token does not hold' },
};
const HEADER = { alg: 'ES256', kid: 'ES256', typ: 'at+jwt' };

let provider: IdentityProvider;
let service: Service;
/** Somebody else's key, under the id of the provider's. */
let stranger: SigningKey;
/** Somebody else's server, which has that key; it counts who asks for it. */
let trap: Server;
let asked = 0;
/** What is logged. */
const lines: string[] = [];
beforeAll(async () => {
  provider = await IdentityProvider.start();
  service = await Service.start(provider.env);
  const add = (line: string): void => void lines.push(line);
  Logger.overrideLogger({ log: add, warn: add, error: add, debug: add });
  stranger = await SigningKey.create('ES256');
  trap = createServer((_request, response) => {
    asked += 1;
    response.end(JSON.stringify({ keys: [stranger.publicJwk] }));
  }).listen(0, '127.0.0.1');
  await once(trap, 'listening');
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
  trap.close();
});

const seconds = (ahead: number): number => Math.floor(Date.now() / 1000) + ahead;

/** The claims of a token that holds, but for these. */
function claims(over: object = {}): object {
  const who = { iss: provider.issuer, aud: AUDIENCE, sub: 'nursery', client_id: 'nursery' };
  return { ...who, iat: seconds(0), exp: seconds(600), jti: '1', scope: 'plants:create', ...over };
}

/** A token that the provider has signed, whatever is in it. */
function signed(over: object = {}, header: object = {}): string {
  return forge({ ...HEADER, ...header }, claims(over), byKey(provider.key()));
}

/** A token that the stranger has signed. */
function strange(header: object = {}): string {
  return forge({ ...HEADER, ...header }, claims(), byKey(stranger));
}

/** A token whose signature is these bytes. */
function withSignature(bytes: Buffer, header: Part = HEADER): string {
  return forge(header, claims(), () => bytes);
}

const trapUrl = (): string => `http://127.0.0.1:${(trap.address() as AddressInfo).port}/jwks`;

/** The provider's public key in a form that a careless verifier takes for a secret. */
function publicKey(type: 'pem' | 'der'): Buffer | string {
  const key = createPublicKey({ key: provider.key().publicJwk, format: 'jwk' });
  return type === 'pem'
    ? key.export({ type: 'spki', format: 'pem' })
    : key.export({ type: 'spki', format: 'der' });
}

function confused(secret: Buffer | string, bits = 256): string {
  return forge({ ...HEADER, alg: `HS${bits}` }, claims(), bySecret(secret, bits));
}

async function ask(token: string) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await service.client.post('{"id":7,"name":"oak"}', headers);
  return {
    status: answer.status,
    challenge: answer.headers['www-authenticate'],
    body: answer.body,
  };
}

const NOTHING = Buffer.alloc(0);

const attacks: Record<string, [name: string, token: () => string][]> = {
  'the algorithm': [
    ...['none', 'None', 'NONE', 'nOnE', ''].map((alg): [string, () => string] => [
      `"${alg}", and no signature`,
      () => withSignature(NOTHING, { ...HEADER, alg }),
    ]),
    ['none, and a signature', () => signed({}, { alg: 'none' })],
    ['none at all', () => withSignature(NOTHING, { kid: 'ES256' })],
    ['HS256 with the public key in PEM', () => confused(publicKey('pem'))],
    ['HS384 with the public key in PEM', () => confused(publicKey('pem'), 384)],
    ['HS512 with the public key in PEM', () => confused(publicKey('pem'), 512)],
    ['HS256 with a line end less', () => confused(publicKey('pem').toString().trim())],
    ['HS256 with the public key in DER', () => confused(publicKey('der'))],
    ['HS256 with the public JWK', () => confused(JSON.stringify(provider.key().publicJwk))],
    ['HS256 with nothing', () => confused('')],
    ['another than the key’s', () => signed({}, { alg: 'ES384' })],
    ['of another kind of key', () => signed({}, { alg: 'RS256' })],
    ['that nobody has', () => signed({}, { alg: 'ES256K' })],
    ['no text', () => signed({}, { alg: ['ES256'] })],
  ],
  'the key': [
    ['somebody else’s, under a known id', () => strange()],
    ['somebody else’s, without an id', () => strange({ kid: undefined })],
    ['of an unknown id', () => signed({}, { kid: 'unknown' })],
    ['of an id that is a path', () => signed({}, { kid: '../../../../dev/null' })],
    ['of an id that is SQL', () => signed({}, { kid: "x' UNION SELECT 'ES256" })],
    ['of an id that is no text', () => signed({}, { kid: 1 })],
    ['at an address in jku', () => strange({ jku: trapUrl() })],
    ['at an address in jku, of an unknown id', () => strange({ jku: trapUrl(), kid: 'trap' })],
    ['at an address in x5u', () => strange({ x5u: trapUrl() })],
    ['at an address in kid', () => strange({ kid: trapUrl() })],
    ['in jwk', () => strange({ jwk: stranger.publicJwk })],
    ['in jwk, without an id', () => strange({ jwk: stranger.publicJwk, kid: undefined })],
    ['in x5c', () => strange({ x5c: [publicKey('der').toString('base64')] })],
  ],
  'the signature': [
    ['of zeros', () => withSignature(Buffer.alloc(64))],
    ['of another token', () => `${signed().split('.', 2).join('.')}.${last(signed({ jti: '2' }))}`],
    ['that is missing', () => `${signed().split('.', 2).join('.')}.`],
    ['that is cut short', () => signed().slice(0, -4)],
    ['that goes on', () => `${signed()}AAAA`],
    ['with padding', () => `${signed()}==`],
    ['with bits that its end does not need', () => signed().replace(/.$/, (c) => BIT[c] ?? '!')],
  ],
  'the issuer': [
    ['is another', () => signed({ iss: 'https://id.example' })],
    ['has a slash behind it', () => signed({ iss: `${provider.issuer}/` })],
    ['is a list', () => signed({ iss: [provider.issuer] })],
    ['is missing', () => signed({ iss: undefined })],
  ],
  'the audience': [
    ['is another', () => signed({ aud: 'https://other.example' })],
    ['is longer', () => signed({ aud: `${AUDIENCE}/` })],
    ['is a list of others', () => signed({ aud: ['nursery', 'https://other.example'] })],
    ['is an empty list', () => signed({ aud: [] })],
    ['is a member', () => signed({ aud: { [AUDIENCE]: true } })],
    ['is missing', () => signed({ aud: undefined })],
    ['is the client, as in an ID token', () => signed({ aud: 'nursery', nonce: '1' })],
  ],
  'the time': [
    ['is past', () => signed({ exp: seconds(-31) })],
    ['is long past', () => signed({ exp: 0 })],
    ['has no end', () => signed({ exp: undefined })],
    ['has an end that is a text', () => signed({ exp: String(seconds(600)) })],
    ['has an end that is null', () => signed({ exp: null })],
    ['is not yet', () => signed({ nbf: seconds(60) })],
    ['has a beginning that is a text', () => signed({ nbf: '0' })],
  ],
  'the holder': [
    ['is missing', () => signed({ sub: undefined })],
    ['is empty', () => signed({ sub: '' })],
    ['is a number', () => signed({ sub: 1 })],
    ['has a line end', () => signed({ sub: 'nursery\n' })],
    ['has U+0000', () => signed({ sub: 'nursery\0' })],
    ['is beyond ASCII', () => signed({ sub: 'gärtnerei' })],
    ['has half a character', () => signed({ sub: '\ud800' })],
    ['is too long', () => signed({ sub: 'x'.repeat(256) })],
    ['must hold a key besides', () => signed({ cnf: { jkt: 'x' } })],
  ],
  'the header': [
    ...['logout+jwt', 'secevent+jwt', 'dpop+jwt', 'id+jwt', 'jose', 1, null].map(
      (typ): [string, () => string] => [`has the type ${typ}`, () => signed({}, { typ })],
    ),
    ['has what must be understood', () => signed({}, { crit: ['exp'], exp: seconds(600) })],
    ['has what must be understood and is not there', () => signed({}, { crit: ['x'] })],
    ['has an empty list of such', () => signed({}, { crit: [] })],
    ['has a text for the list', () => signed({}, { crit: 'b64', b64: true })],
    ['says that the claims are not encoded', () => signed({}, { crit: ['b64'], b64: false })],
    ['is a list', () => forge('[]', claims(), byKey(provider.key()))],
    ['is null', () => forge('null', claims(), byKey(provider.key()))],
    ['is no JSON', () => forge('{', claims(), byKey(provider.key()))],
    ['is empty', () => forge('', claims(), byKey(provider.key()))],
  ],
  'the claims': [
    ['are a list', () => forge(HEADER, '[]', byKey(provider.key()))],
    ['are a text', () => forge(HEADER, '"x"', byKey(provider.key()))],
    ['are no JSON', () => forge(HEADER, '{', byKey(provider.key()))],
    ['are nothing', () => forge(HEADER, '', byKey(provider.key()))],
  ],
  'the form': [
    ['without a signature', () => signed().split('.', 2).join('.')],
    ['with a part too many', () => `${signed()}.${last(signed())}`],
    ['encrypted, by its looks', () => `${signed()}.AAAA.AAAA`],
    ['with an empty part', () => signed().replace(/\..*\./, '..')],
    ['in standard base64', () => signed().replaceAll('-', '+').replaceAll('_', '/').concat('=')],
    ['in JSON', () => JSON.stringify({ protected: 'e30', payload: 'e30', signature: 'AAAA' })],
    ['with a blank in it', () => signed().replace('.', ' .')],
    ['of 12,000 characters', () => signed({ more: 'x'.repeat(8_800) }, { kid: 'unknown' })],
  ],
};

/** The next character after those that may end a signature of 64 bytes: same bits, one more. */
const BIT: Readonly<Record<string, string>> = { A: 'B', Q: 'R', g: 'h', w: 'x' };

const last = (token: string): string => token.slice(token.lastIndexOf('.') + 1);

describe.each(Object.entries(attacks))('%s', (_part, tokens) => {
  it.each(tokens)('%s: 401', async (_name, token) => {
    expect(await ask(token())).toEqual(INVALID_TOKEN);
    expect(await service.store.count()).toBe(0);
  });
});

it('no address in a token was asked, and the provider for its keys alone', () => {
  expect(asked).toBe(0);
  const paths = new Set(provider.asked);
  expect(paths).toEqual(new Set(['/.well-known/openid-configuration', '/jwks']));
});

it('the log says what is wrong with a token, in words of its own', () => {
  expect(lines).toContain('a JSON Web Token does not hold: ERR_JWT_CLAIM_VALIDATION_FAILED, aud');
  const line = /^a JSON Web Token does not hold: (ERR_\w+(, [a-z]+)?|its key is of no use)$/;
  for (const said of new Set(lines)) expect(said).toMatch(line);
});

it('a token with any one character changed does not hold', async () => {
  const token = signed();
  const changes = fc.record({
    at: fc.nat(token.length - 1),
    to: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  });
  await fc.assert(
    fc.asyncProperty(changes, async ({ at, to }) => {
      fc.pre(token[at] !== to);
      const changed = token.slice(0, at) + to + token.slice(at + 1);
      expect(await ask(changed)).toEqual(INVALID_TOKEN);
    }),
    { numRuns: 500 },
  );
});

describe('what is no attack holds', () => {
  it.each<[string, () => string]>([
    ['a token as it should be', () => signed()],
    ['past within the skew of clocks', () => signed({ exp: seconds(-20) })],
    ['not yet within the skew of clocks', () => signed({ nbf: seconds(20) })],
    ['one of several audiences', () => signed({ aud: ['https://other.example', AUDIENCE] })],
    ['without a key id, where there is one key', () => signed({}, { kid: undefined })],
    ['of the type JWT', () => signed({}, { typ: 'JWT' })],
    ['of the type application/at+jwt', () => signed({}, { typ: 'application/at+JWT' })],
    ['of no type', () => signed({}, { typ: undefined })],
    ['the scope in scp', () => signed({ scope: undefined, scp: 'x plants:create' })],
    ['the scope in a list', () => signed({ scope: undefined, scp: ['x', 'plants:create'] })],
    ['a holder of 255 characters', () => signed({ sub: 'x'.repeat(255) })],
    ['an address in jku, which is not asked', () => signed({}, { jku: trapUrl() })],
  ])('%s', async (_name, token) => {
    expect((await ask(token())).status).toBe(200);
    expect(asked).toBe(0);
  });

  it.each<[string, object]>([
    ['no scope', { scope: undefined }],
    ['a longer one', { scope: 'plants:created plants:create:all' }],
    ['one in another case', { scope: 'Plants:Create' }],
    ['an object', { scope: { 'plants:create': true } }],
    ['a list in a text', { scope: 'plants:create,x' }],
  ])('but %s is not the scope: 403', async (_name, over) => {
    expect((await ask(signed(over))).status).toBe(403);
  });
});
