/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Proxy } from '../../../test/support/proxy.js';
import { PostgresInspector } from './inspector.js';
import { CheckedPool } from './pool.js';
import type { Session } from './session.js';

const SESSIONS = 10;
/** Milliseconds. Long enough for a statement of a busy machine. */
const TIMEOUT = 300;
const LONG = 10 * TIMEOUT;

let proxy: Proxy;
let inspector: PostgresInspector;
let pool: CheckedPool;
beforeEach(async () => {
  const url = new URL(process.env.TEST_DATABASE_URL ?? '');
  proxy = await Proxy.start(Number(url.port));
  url.port = String(proxy.port);
  inspector = new PostgresInspector('read');
  pool = new CheckedPool({ connectionString: url.href, statementTimeoutMs: TIMEOUT, inspector });
  pool.on('error', () => undefined);
});
afterEach(async () => {
  await new Promise<void>((ended) => pool.end(ended));
  await proxy.stop();
});

const borrow = () =>
  new Promise<Session>((resolve, reject) =>
    pool.connect((error, session) =>
      session ? resolve(session) : reject(error ?? new Error('no session')),
    ),
  );

/** Lets each of the sessions hang, and returns it, as TypeORM does. */
async function letHang(sessions: readonly Session[]): Promise<void> {
  proxy.forget();
  const hang = async (session: Session) => {
    await expect(session.query('SELECT 1')).rejects.toThrow();
    session.release();
  };
  await Promise.all(sessions.map(hang));
}

/** Tries to borrow a session until one is lent. Resolves to it, and how long that has taken. @throws the pool's error */
async function untilLent() {
  const began = performance.now();
  while (performance.now() - began < 4 * LONG) {
    const session = await borrow().catch(() => undefined);
    if (session) return { session, tookMs: performance.now() - began };
    await sleep(10);
  }
  return { session: await borrow(), tookMs: Infinity };
}

it('once all sessions hang for long, as their connections are dead, one is replaced, and then the others', async () => {
  await letHang(await Promise.all(Array.from({ length: SESSIONS }, borrow)));
  await expect(borrow()).rejects.toMatchObject({
    reason: 'no session available: the server has not closed the old ones',
  });
  const { session, tookMs } = await untilLent();
  // Not earlier: the server may be slow to end the statements.
  expect(tookMs).toBeGreaterThan(LONG / 2);
  // If the new session hangs as well, no second one follows soon.
  await letHang([session]);
  const again = await untilLent();
  expect(again.tookMs).toBeGreaterThan(LONG / 2);
  await again.session.query('SELECT 1');
  // The server has responded, so that the others are closed.
  const rest = await Promise.all(Array.from({ length: SESSIONS - 1 }, borrow));
  await Promise.all(rest.map((one) => one.query('SELECT 1')));
  for (const one of [...rest, again.session]) one.release();
});

it('a session that an inspection refuses is closed, and takes no place of another', async () => {
  jest.spyOn(inspector, 'isServing', 'get').mockReturnValue(true);
  const finding = { effect: 'unsafe', what: 'fsync is off', remedy: 'set it to on' } as const;
  const find = jest.spyOn(inspector, 'find').mockResolvedValue([finding]);
  for (let tries = 0; tries < SESSIONS; tries++)
    await expect(borrow()).rejects.toMatchObject({ finding });
  find.mockResolvedValue([]);
  const session = await borrow();
  await session.query('SELECT 1');
  session.release();
});
