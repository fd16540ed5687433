/** @engine sqlite */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { InsertEvent, Repository } from 'typeorm';
import { SqliteStore } from '../../../test/support/sqlite-store.js';
import { Token } from '../../auth/tokens/token.entity.js';
import { readConfig } from '../../config/environment.js';
import { openStore, type Store } from '../store.js';

let file: SqliteStore;
let store: Store;
let tokens: Repository<Token>;
beforeEach(async () => {
  file = new SqliteStore();
  store = await openStore(readConfig({ DATABASE_URL: file.url, DATABASE_TIMEOUT: '1s' }), [Token]);
  tokens = store.getRepository(Token);
});
afterEach(async () => {
  jest.useRealTimers();
  await store.destroy();
  await file.remove();
});

/** A token; two of one hash cannot be stored. */
const make = (hash: string) => ({ name: 'test', hash, createdAt: new Date() });
const range = (length: number) => Array.from({ length }, (_, i) => i);

/** The hashes that another connection sees. */
async function stored(): Promise<string[]> {
  const rows = await file.rows<{ hash: string }>('SELECT hash FROM tokens ORDER BY id');
  return rows.map(({ hash }) => hash);
}

it.each<[string, (hash: string) => Promise<unknown>]>([
  ['save()', (hash) => tokens.save(make(hash))],
  ['insert()', (hash) => tokens.insert(make(hash))],
  ['transaction()', (hash) => store.transaction((manager) => manager.insert(Token, make(hash)))],
])('what %s has resolved for is stored, whatever fails beside it', async (_how, write) => {
  await write('taken');
  const seen: boolean[] = [];
  const writes = range(60).map(async (i) => {
    const hash = i % 3 === 1 ? 'taken' : `hash-${i}`;
    await (i % 2 === 0 ? tokens.save(make(hash)) : write(hash));
    seen.push((await stored()).includes(hash));
    return hash;
  });
  const outcomes = await Promise.allSettled(writes);
  const resolved = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(resolved).toEqual(range(60).flatMap((i) => (i % 3 === 1 ? [] : [`hash-${i}`])));
  expect(seen).toEqual(resolved.map(() => true));
  expect((await stored()).sort()).toEqual(['taken', ...resolved].sort());
});

it('a transaction that waits for another runner fails, and the connection is free again', async () => {
  const waiting = store.transaction(() => tokens.insert(make('a')));
  const reason = expect.stringContaining("within one, use its manager's repositories");
  await expect(waiting).rejects.toMatchObject({ reason });
  const runner = store.createQueryRunner();
  await runner.startTransaction();
  await runner.manager.insert(Token, make('forgotten'));
  await runner.release();
  await tokens.insert(make('b'));
  expect(await stored()).toEqual(['b']);
});

it('an operation waits for the first, also when a second has waited for too long', async () => {
  const runner = store.createQueryRunner();
  await runner.startTransaction();
  await runner.manager.insert(Token, make('undone'));
  // No timeout passes before the test says so.
  jest.useFakeTimers({ doNotFake: ['nextTick', 'performance', 'setImmediate', 'queueMicrotask'] });
  const second = expect(tokens.insert(make('late'))).rejects.toThrow('unavailable');
  await new Promise(setImmediate);
  jest.runOnlyPendingTimers();
  await second;
  const third = tokens.insert(make('kept'));
  await new Promise(setImmediate);
  await runner.rollbackTransaction();
  await third;
  await runner.release();
  expect(await stored()).toEqual(['kept']);
});

it('a full disk fails one transaction, and none after it', async () => {
  const [{ page_count: pages } = { page_count: 0 }] =
    await store.query<{ page_count: number }[]>('PRAGMA page_count');
  await store.query(`PRAGMA max_page_count = ${pages + 2}`);
  const full = (hash: string) => tokens.save({ ...make(hash), name: 'x'.repeat(100_000) });
  const outcomes = await Promise.allSettled([full('a'), tokens.save(make('b')), full('c')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected']);
  expect(outcomes[0]).toMatchObject({ reason: { driverError: { code: 'SQLITE_FULL' } } });
  await tokens.save(make('d'));
  expect(await stored()).toEqual(['b', 'd']);
});

it('a subscriber writes in the transaction of what it is told of', async () => {
  store.subscribers.push({
    listenTo: () => Token,
    async afterInsert({ manager, entity }: InsertEvent<Token>) {
      if (entity.hash !== 'last') await manager.save(Token, make('last'));
    },
  });
  await tokens.save(make('a'));
  await expect(tokens.save(make('b'))).rejects.toThrow('UNIQUE');
  await tokens.delete({ hash: 'last' });
  await store.transaction((manager) => manager.save(Token, make('c')));
  expect(await stored()).toEqual(['a', 'c', 'last']);
});

it('runs two statements of one runner at once, and none once it is released', async () => {
  const runner = store.createQueryRunner();
  const both = await Promise.all([
    runner.query('SELECT 1 AS one'),
    runner.query('SELECT 2 AS two'),
  ]);
  expect(both).toEqual([[{ one: 1 }], [{ two: 2 }]]);
  await runner.release();
  await expect(runner.query('SELECT 1')).rejects.toThrow('released');
});
