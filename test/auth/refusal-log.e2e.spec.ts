/** @engine sqlite */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createSecret } from '../../src/auth/tokens/token-secret.js';
import { Forger, seconds } from '../support/forger.js';
import { IdentityProvider, SigningKey } from '../support/identity-provider.js';
import { Service } from '../support/service.js';

let provider: IdentityProvider;
let service: Service;
let forger: Forger;
beforeAll(async () => {
  provider = await IdentityProvider.start();
  service = await Service.start({ ...provider.env, NODE_ENV: 'production' });
  forger = new Forger(provider, await SigningKey.create('ES256'), 'http://127.0.0.1:9');
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

/** Sends a request with these credentials. Returns what its line in the log has of the token. */
async function refuse(credentials: string): Promise<object> {
  const headers = { authorization: credentials, 'content-type': 'application/json' };
  const response = await service.client.post('{"id":7,"name":"oak"}', headers);
  for (;;) {
    const { requestId, error, tokenId, tokenName, reason } =
      service.log.lines('Request').at(-1) ?? {};
    if (requestId === response.headers['x-request-id'])
      return { error, tokenId, tokenName, reason };
    await new Promise(setImmediate);
  }
}

const refuseToken = (token: string) => refuse(`Bearer ${token}`);

/** A line about a token of which these members are known. */
const line = (error: number, reason: RegExp, known: object = {}) => ({
  ...{ error, tokenId: undefined, tokenName: undefined },
  ...known,
  reason: expect.stringMatching(reason),
});

const NURSERY = { tokenId: 'jwt:nursery', tokenName: 'nursery' };

it("the line of a request that is refused names the reason and the service's own token", async () => {
  const { tokens } = service;
  const expired = await tokens.create('expired', -1_000);
  const revoked = await tokens.create('revoked');
  await tokens.revoke('revoked');
  expect(await refuseToken(expired.secret)).toEqual(
    line(2001, /^expired at [\d-]+T[\d:.]+Z$/, { tokenId: 'token:2', tokenName: 'expired' }),
  );
  expect(await refuseToken(revoked.secret)).toEqual(
    line(2001, /^revoked at [\d-]+T[\d:.]+Z$/, { tokenId: 'token:3', tokenName: 'revoked' }),
  );
  expect(await refuseToken(createSecret())).toEqual(line(2001, /^unknown: not in the database$/));
  const cut = service.token.slice(0, -1);
  expect(await refuseToken(cut)).toEqual(
    line(2001, /^malformed: not plant_ and 38 letters and digits with a right checksum$/),
  );
  const twice = `Bearer Bearer ${service.token}`;
  expect(await refuse(twice)).toEqual(line(2001, /^malformed: more than a token after Bearer$/));
});

it('the line names the reason of a JSON Web Token, and its subject if its signature is right', async () => {
  expect(await refuseToken(forger.signed({ exp: seconds(-45) }))).toEqual(
    line(2001, /^ERR_JWT_EXPIRED, exp is \d+ s ago$/, NURSERY),
  );
  expect(await refuseToken(forger.signed({ nbf: seconds(3_600) }))).toEqual(
    line(2001, /^ERR_JWT_CLAIM_VALIDATION_FAILED, nbf is in \d+ s$/, NURSERY),
  );
  expect(await refuseToken(forger.signed({ aud: 'https://other.example' }))).toEqual(
    line(2001, /^ERR_JWT_CLAIM_VALIDATION_FAILED, aud$/, NURSERY),
  );
  expect(await refuseToken(forger.signed({ sub: 'two\nlines' }))).toEqual(
    line(2001, /^ERR_JWT_CLAIM_VALIDATION_FAILED, sub$/),
  );
  expect(await refuseToken(forger.strange())).toEqual(
    line(2001, /^ERR_JWS_SIGNATURE_VERIFICATION_FAILED$/),
  );
  expect(await refuseToken(`${forger.signed()}1`)).toEqual(
    line(2001, /^malformed: neither plant_ .* nor a JSON Web Token$/),
  );
  const lacksScope = forger.signed({ scope: 'plants:water' });
  expect(await refuseToken(lacksScope)).toEqual({ ...line(2002, /./, NURSERY), reason: undefined });
});
