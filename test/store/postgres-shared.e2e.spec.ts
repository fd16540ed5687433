/** @engine postgres */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { cli, makeStore, store } from '../support/own.js';
import { read } from '../support/published.js';
import { ServiceProcess } from '../support/service-process.js';
import { startHere } from '../support/start-here.js';

makeStore();

/** Each command that opens the store. */
const COMMANDS = ['export', 'check', 'backup b.sqlite', 'token list', 'token create t'];

describe('a database that another TypeORM application uses', () => {
  it.each([
    ['id serial, timestamp bigint, name varchar', "DEFAULT, 1, 'CreateUsers1'"],
    ['version text', "'1'"],
  ])('whose list has %s: every command works', async (columns, row) => {
    const insert = `INSERT INTO migrations VALUES (${row})`;
    await store.execute(
      `CREATE TABLE users (id int); CREATE TABLE migrations (${columns}); ${insert}`,
    );
    for (const command of COMMANDS)
      expect((await cli(command)).stderr).toContain('it is not a plant store');
    expect((await cli('migrate')).code).toBe(0);
    await store.execute(insert);
    for (const command of COMMANDS) expect((await cli(command)).code).toBe(0);
    expect(await startHere(store.url)).toMatchObject({ code: 0 });
    expect(await store.rows('SELECT FROM migrations')).toHaveLength(2);
  });
});

describe('roles with the rights of docs/operating.md alone', () => {
  const suffix = `_${randomBytes(4).toString('hex')}`;
  const names = ['plants_service', 'plants_backup'];

  /** The address of the store for a role. */
  const urlOf = (role: string): string => {
    const url = new URL(store.url);
    [url.username, url.password] = [`${role}${suffix}`, 'secret'];
    return url.href;
  };

  beforeEach(async () => {
    await cli('migrate');
    const page = read('docs/operating.md');
    const [, sql = ''] = /## Roles[^]*?<<'SQL'\n([^]*?)\nSQL\n/.exec(page) ?? [];
    await store.execute(sql.replace(/plants_\w+/g, `$&${suffix}`));
  });
  afterEach(async () => {
    for (const name of names)
      await store.execute(`DROP OWNED BY ${name}${suffix}; DROP ROLE ${name}${suffix}`);
  });

  it('the service serves, and a backup is in its metrics', async () => {
    const token = (await cli('token create nursery')).stdout.trim();
    const env = { DATABASE_URL: urlOf('plants_service'), MIGRATE: 'off', MANAGEMENT_PORT: '0' };
    const service = await ServiceProcess.start({ store, token, env });
    expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
    const time = 'plant_store_last_backup_timestamp_seconds';
    expect((await service.monitor.metrics()).get(time)).toBeUndefined();
    const begun = Date.now() / 1_000;
    const backup = await cli('backup b.sqlite', urlOf('plants_backup'));
    expect(backup).toMatchObject({ code: 0, stderr: '' });
    expect((await service.monitor.metrics()).get(time)).toBeGreaterThan(begun);
    expect((await cli('export', urlOf('plants_backup'))).stdout).toBe('{"id":1,"name":"oak"}\n');
    // A right that is revoked while the service runs.
    await store.execute(`REVOKE INSERT ON plants FROM plants_service${suffix}`);
    expect(await service.client().create({ id: 2n, name: 'oak' })).toMatchObject({
      status: 503,
      body: { error: 5001 },
    });
    await service.kill();
  });

  it('the service may write to every table of a resource', async () => {
    const may = (right: string) =>
      `has_table_privilege('plants_service${suffix}', oid, '${right}')`;
    const rows = await store.rows<{ name: string }>(`
      SELECT relname::text AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
        AND NOT (${may('SELECT')} AND ${may('INSERT, UPDATE')}) ORDER BY name`);
    expect(rows.map(({ name }) => name)).toEqual(['backups', 'plant_store_migrations']);
  });

  it('the table to which a right lacks is named', async () => {
    const lacking = (role: string, right: string, table: string) =>
      `the role ${role}${suffix} lacks ${right} on columns of ${table}: ` +
      `run \`GRANT ${right} ON ${table} TO ${role}${suffix}\` (docs/operating.md#roles)\n`;
    expect((await cli('token list', urlOf('plants_service'))).code).toBe(0);
    expect((await cli('token create t', urlOf('plants_service'))).stderr).toContain(
      lacking('plants_service', 'INSERT', 'tokens'),
    );
    await store.execute(`REVOKE ALL ON plants, plant_store_migrations FROM plants_backup${suffix}`);
    expect((await cli('migrate', urlOf('plants_backup'))).stderr).toContain(
      lacking('plants_backup', 'SELECT', 'plant_store_migrations'),
    );
    for (const command of ['export', 'check', 'backup b.sqlite', 'status']) {
      const { stdout, stderr } = await cli(command, urlOf('plants_backup'));
      expect(stdout + stderr).toContain(
        'the store cannot be opened: permission denied for table plant_store_migrations: ' +
          'grant it (docs/operating.md#roles)\n',
      );
    }
  });
});
