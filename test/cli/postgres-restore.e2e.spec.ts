/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { Client as Postgres } from 'pg';
import { Token } from '../../src/auth/tokens/token.entity.js';
import { TokensService } from '../../src/auth/tokens/tokens.service.js';
import { readConfig } from '../../src/config/environment.js';
import { openStore } from '../../src/database/store.js';
import {
  cli,
  contentOf,
  file,
  fillWith,
  makeStores,
  makeToken,
  source,
  target,
} from './backups.js';
import { spawnCli, untilEnd } from '../support/cli.js';

makeStores();

const NOT_OPENED = 'error: DATABASE_URL: the store cannot be opened: ';

/** Backs up plants and a token. @param count so many that a restore can be met at work */
async function backUp(count = 20_000): Promise<void> {
  await makeToken(source, 'nursery');
  await source.execute(fillWith(count));
  await cli(source, `backup ${file}`);
}

async function connect(): Promise<Postgres> {
  const client = new Postgres({ connectionString: target.url });
  await client.connect();
  return client;
}

it.each([
  "INSERT INTO plants (id, name) VALUES (1, 'own')",
  "INSERT INTO tokens (name, hash, created_at) VALUES ('own', 'h', 1)",
])('a store with an open transaction of others is left as it is: %s', async (sql) => {
  await backUp(1);
  const other = await connect();
  await other.query('BEGIN');
  await other.query(sql);
  expect(await cli(target, `restore ${file}`)).toEqual({
    code: 1,
    stdout: '',
    stderr:
      `${NOT_OPENED}another process writes to it, such as a service or another restore: ` +
      'stop that first; nothing was written\n',
  });
  expect(await contentOf(target)).toEqual(['', '']);
  await other.query('ROLLBACK');
  await other.end();
  expect(await cli(target, `restore ${file}`)).toMatchObject({ code: 0 });
  expect(await contentOf(target)).toEqual(await contentOf(source));
});

/** Runs a restore. Resolves once it has locked the tables, to its end. */
async function startRestore() {
  const env = { DATABASE_URL: target.url };
  const ended = untilEnd(spawnCli(['restore', file], { cwd: target.folder, env }));
  const locked = `SELECT FROM pg_locks WHERE relation = 'tokens'::regclass AND mode = 'ShareRowExclusiveLock' AND granted`;
  while ((await target.rows(locked)).length === 0) await sleep(5);
  return { ended };
}

it('a plant that is sent during a restore waits for its end, and is kept', async () => {
  await backUp();
  const other = await connect();
  const restored = await startRestore();
  await other.query("INSERT INTO plants (id, name) VALUES (0, 'own')");
  // The restore has committed.
  expect(await target.count()).toBe(20_001);
  await other.end();
  expect(await restored.ended).toMatchObject({ code: 0 });
  await target.execute("DELETE FROM plants WHERE name = 'own'");
  expect(await contentOf(target)).toEqual(await contentOf(source));
});

it('a token that is created during a restore has no name of a restored one', async () => {
  await backUp();
  const config = readConfig({ DATABASE_URL: target.url, DATABASE_TIMEOUT: '60s' });
  await using store = await openStore(config, [Token], 'token');
  const tokens = new TokensService(store.getRepository(Token));
  const restored = await startRestore();
  await expect(tokens.create('nursery')).rejects.toThrow('a token named nursery exists');
  expect(await restored.ended).toMatchObject({ code: 0 });
  expect(await contentOf(target)).toEqual(await contentOf(source));
});

it('a role that may not lock the tables is told so', async () => {
  await backUp(1);
  const role = `restorer_${String(process.pid)}`;
  await target.execute(
    `CREATE ROLE ${role} LOGIN; GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO ${role}`,
  );
  const url = target.url.replace('postgres@', `${role}@`);
  const stderr = `${NOT_OPENED}the role ${role} lacks UPDATE on columns of plants: run \`GRANT UPDATE ON plants TO ${role}\` (docs/operating.md#roles)\n`;
  const restricted = Object.create(target, { url: { value: url } }) as typeof target;
  expect(await cli(restricted, `restore ${file}`)).toEqual({ code: 1, stdout: '', stderr });
  await target.execute(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
});
