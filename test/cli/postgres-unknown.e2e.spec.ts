/** @engine postgres */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { runHere, type Ran } from '../support/cli.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresStore } from '../support/postgres-store.js';
import { SqliteStore } from '../support/sqlite-store.js';
import { cli, makeToken, passed } from './backups.js';

let server: PostgresServer;
let source: SqliteStore;
let file: string;
let target: PostgresStore;
beforeAll(async () => {
  server = await PostgresServer.start();
  source = new SqliteStore();
  file = join(source.folder, 'backup.sqlite');
  await cli(source, 'migrate');
  await makeToken(source, 'nursery');
  await source.execute("INSERT INTO plants (id, name) VALUES (1, 'oak'), (2, 'elm')");
  await cli(source, `backup ${file}`);
});
beforeEach(async () => {
  target = await PostgresStore.create(server.url());
});
afterEach(async () => {
  await setStandby(null);
  await target.remove();
});
afterAll(async () => {
  await source.remove();
  await server.remove();
});

/** Names a standby for which commits wait. */
async function setStandby(name: string | null): Promise<void> {
  const change = name === null ? 'RESET' : 'SET';
  const value = name === null ? '' : ` = '${name}'`;
  await target.execute(`ALTER SYSTEM ${change} synchronous_standby_names${value}`);
  await target.reload();
}

function run(line: string): Promise<Ran> {
  const env = { DATABASE_URL: target.url, DATABASE_TIMEOUT: '8s' };
  return runHere(line.split(' '), { cwd: target.folder, env });
}

/** Has the server die while a commit waits for the standby, and starts it again. */
async function dieInCommit(): Promise<void> {
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  while ((await target.rows(waiting)).length === 0) await sleep(20);
  await server.kill();
  await server.start();
}

it.each([
  ['waits for its standby', 'the store took too long', () => Promise.resolve()],
  ['is killed', 'Connection terminated unexpectedly', dieInCommit],
])('a restore whose server %s as it commits says how to find out', async (_what, reason, end) => {
  await cli(target, 'migrate');
  await setStandby('nobody');
  const [restored] = await Promise.all([run(`restore ${file}`), end()]);
  expect(restored).toEqual({
    code: 1,
    stdout: '',
    stderr:
      `error: ${reason}, and it is unknown whether the store was filled: run \`bin/plant-store check\`; ` +
      'if it prints plants: 2, tokens: 1, it was; if it prints 0 of each, restore again\n',
  });
  expect(await run('check')).toEqual({ code: 0, stdout: passed(2, 1), stderr: '' });
  expect(await run(`restore ${file}`)).toMatchObject({
    code: 1,
    stderr:
      'error: the store has plants: nothing was written; stop the service, keep its plants, but not its tokens, by `bin/plant-store export plants.ndjson`, restore into an empty one (docs/operating.md#restore), and, once the service runs on that, with a token that is active there `PLANT_STORE_TOKEN=… bin/plant-store import plants.ndjson`\n',
  });
});

const UNKNOWN = 'error: the store took too long, and it is unknown whether ';

it('tokens: a command whose commit has no response says how to find out', async () => {
  await cli(target, 'migrate');
  await makeToken(target, 'nursery');
  await setStandby('nobody');
  const issued =
    `${UNKNOWN}a token was created: ` +
    'if `bin/plant-store token list` shows a new one, revoke it by its number\n';
  const changed = `${UNKNOWN}the tokens were changed: see \`bin/plant-store token list\`\n`;
  for (const [line, stderr] of [
    ['token create orchard', issued],
    ['token rotate nursery', issued],
    ['token revoke orchard', changed],
  ] as const)
    expect(await run(line)).toEqual({ code: 1, stdout: '', stderr });
  const listed = JSON.parse((await run('token list --json')).stdout) as object[];
  expect(listed).toMatchObject([
    { name: 'nursery', state: 'active', expiresAt: expect.any(String) },
    { name: 'orchard', state: 'revoked' },
    { name: 'nursery', state: 'active' },
  ]);
});

it('a migration whose commit has no response is whole, and is run again without harm', async () => {
  await setStandby('nobody');
  expect(await run('migrate')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'error: DATABASE_URL: the store cannot be opened: the store took too long\n',
  });
  expect(await run('migrate')).toEqual({ code: 0, stdout: 'up to date\n', stderr: '' });
});
