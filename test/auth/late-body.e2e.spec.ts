/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { IdentityProvider, SigningKey } from '../support/identity-provider.js';
import { ENGINE } from '../support/engine.js';
import { requestText, type RawConnection } from '../support/raw-connection.js';
import { GroupCommit } from '../../src/plants/group-commit.js';
import { countInFlight, Service } from '../support/service.js';
import { INVALID_TOKEN } from './refusals.js';

let provider: IdentityProvider;
let service: Service;
const inFlight = countInFlight();
beforeAll(async () => {
  // The clocks stand still, but for what the tests let pass.
  jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  const real = [
    ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate'] as const),
    ...(['setInterval', 'setTimeout', 'clearImmediate', 'clearInterval', 'clearTimeout'] as const),
  ];
  jest.useFakeTimers({ doNotFake: real });
  provider = await IdentityProvider.start();
  service = await Service.start({ ...provider.env, DATABASE_TIMEOUT: '60s' });
});
afterEach(async () => {
  await service.store.execute('DELETE FROM plants');
});
afterAll(async () => {
  jest.restoreAllMocks();
  jest.useRealTimers();
  await service.stop();
  await provider.stop();
});

/** Lets this time pass for the service, in milliseconds, by the clock that nobody can set. */
function pass(ms: number): void {
  jest.spyOn(performance, 'now').mockReturnValue(performance.now() + ms);
}

function moveWallClock(ms: number): void {
  jest.setSystemTime(Date.now() + ms);
}

function passAll(ms: number): void {
  pass(ms);
  moveWallClock(ms);
}

const BODY = '{"id":7,"name":"oak"}';
const headersOf = (token: string) => ({
  ...service.client.headers,
  authorization: `Bearer ${token}`,
});
let made = 0;

/** How a token ends while its body is on the way. */
const ENDS: Readonly<
  Record<string, { create: () => Promise<string>; end: () => void | Promise<void> }>
> = {
  'is revoked': {
    create: async () => (await service.tokens.create(`late-${++made}`)).secret,
    async end() {
      await service.tokens.revoke(`late-${made}`);
      pass(5_000);
    },
  },
  // Within 5 seconds a revoked token may still be known from its last query.
  'was revoked 1.9 s before its headers and 5 s': {
    async create() {
      const { secret: token } = await service.tokens.create(`late-${++made}`);
      expect((await service.client.post('{}', headersOf(token))).status).toBe(400);
      await service.tokens.revoke(`late-${made}`);
      pass(1_900);
      return token;
    },
    end: () => pass(3_100),
  },
  'is revoked while the machine is suspended': {
    create: async () => (await service.tokens.create(`late-${++made}`)).secret,
    async end() {
      await service.tokens.revoke(`late-${made}`);
      moveWallClock(5_000);
    },
  },
  expires: {
    create: async () => (await service.tokens.create(`late-${++made}`, 60_000)).secret,
    end: () => passAll(61_000),
  },
  'is a JSON Web Token and expires': {
    create: () => provider.token(),
    end: () => passAll(632_000),
  },
  'is a JSON Web Token and loses its key': {
    create: () => provider.token(),
    async end() {
      await provider.use([await SigningKey.create(`key-${++made}`)]);
      // A token with the new key makes the service load the keys.
      const headers = headersOf(await provider.token());
      do pass(6_000);
      while ((await service.client.post('{}', headers)).status !== 400);
    },
  },
  'is a JSON Web Token and loses its key while the process stands still': {
    create: () => provider.token(),
    async end() {
      await provider.use([await SigningKey.create(`key-${++made}`)]);
      pass(66_000);
    },
  },
};

/** How a body is sent that comes after its headers, and in what bytes. */
const FORMS: Readonly<Record<string, { headers: Record<string, string>; body: string }>> = {
  'with its length': { headers: { 'content-length': `${BODY.length}` }, body: BODY },
  'in chunks': {
    headers: { 'transfer-encoding': 'chunked' },
    body: `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`,
  },
  'after 100 Continue': {
    headers: { 'content-length': `${BODY.length}`, expect: '100-continue' },
    body: BODY,
  },
};

/** Sends the headers of a create, and waits until its token was accepted. */
async function sendHead(token: string, headers: Record<string, string>): Promise<RawConnection> {
  const connection = await service.connect();
  connection.write(requestText({ ...headersOf(token), ...headers }));
  while (inFlight.count === 0) await sleep(5);
  if (headers.expect) expect((await connection.read()).status).toBe(100);
  // A later request with the token has a response only after that.
  else expect((await service.client.post('{}', headersOf(token))).status).toBe(400);
  return connection;
}

const forms = Object.entries(FORMS);
const rows = Object.entries(ENDS).flatMap(([end, how]) =>
  forms.map(([form, sent]) => [end, form, how, sent] as const),
);
it.each(rows)(
  'a token that %s before its body, which comes %s: 401, and nothing is stored',
  async (_end, _form, { create, end }, { headers, body }) => {
    using connection = await sendHead(await create(), headers);
    await end();
    connection.write(body);
    expect(await connection.read()).toMatchObject(INVALID_TOKEN);
    expect(await service.store.count()).toBe(0);
  },
);

it('a late body is not parsed before its token is verified again', async () => {
  const { secret } = await service.tokens.create('brief');
  using connection = await sendHead(secret, { 'content-length': '1' });
  await service.tokens.revoke('brief');
  pass(5_000);
  connection.write('{');
  expect(await connection.read()).toMatchObject(INVALID_TOKEN);
});

it.each(forms)('an active token is accepted with a late body %s', async (_form, sent) => {
  using connection = await sendHead(service.token, sent.headers);
  passAll(25_000);
  connection.write(sent.body);
  expect(await connection.read()).toMatchObject({ status: 200, body: { name: 'oak' } });
});

const WAITING = `SELECT FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND datname = current_database()`;

it('a plant whose token was accepted waits for its commit at most half of DATABASE_TIMEOUT', async () => {
  const own = await Service.start({ DATABASE_TIMEOUT: '1s' });
  const unlock = await own.store.lock();
  const response = own.client.post(BODY);
  while (own.app.get(GroupCommit).isIdle) await sleep(5);
  expect(await response).toMatchObject({ status: 503, body: { error: 5001 } });
  while (!own.app.get(GroupCommit).isIdle) await sleep(5);
  // PostgreSQL is asked to cancel the statement, and does so soon.
  while (ENGINE !== 'sqlite' && (await own.store.rows(WAITING)).length > 0) await sleep(5);
  await unlock();
  expect(await own.store.count()).toBe(0);
  await own.stop();
});
