/** @engine sqlite */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { FaultyDisk, type File } from '../../drill/sqlite/recording.js';
import { COMMIT_A_PAGE } from '../../src/database/sqlite/writer.js';
import { runCli } from '../support/cli.js';
import { makeStore, sqlite as store } from '../support/own.js';
import { GuidedCopy } from '../support/guides.js';
import { runMain, ServiceProcess } from '../support/service-process.js';

/** The exit code of an I/O error (sysexits.h). */
const EX_IOERR = 74;
const OAK = { id: 1n, name: 'oak' };

/** The next sync of a file, and only that one. */
const syncOf = (file: File) => ({ operation: 'sync', file, error: 'EIO', lasting: false }) as const;

makeStore();

/** Starts the service on a disk that can fail. */
async function start(under: readonly string[] = []) {
  const disk = new FaultyDisk(store.folder, store.path);
  const service = await ServiceProcess.start({ store, env: disk.env, under });
  return { disk, service };
}

/** Sends a plant. Returns whether it got a 200; a broken connection counts as no. */
async function isStored(service: ServiceProcess, plant: { id: bigint; name: string }) {
  const response = service.client().create(plant);
  return response.then(({ status }) => status === 200).catch(() => false);
}

describe('a failed sync ends the process without closing the store, and the next start recovers', () => {
  it('of a commit: exit 74, no 200, one line in the log', async () => {
    const { disk, service } = await start();
    expect(await isStored(service, OAK)).toBe(true);
    const file = readFileSync(store.path);
    const log = statSync(`${store.path}-wal`).size;
    disk.arm(syncOf('log'));
    const responses = await Promise.all([2n, 3n].map((id) => isStored(service, { ...OAK, id })));
    expect(responses).toEqual([false, false]);
    expect(await service.exited).toEqual({ code: EX_IOERR, signal: null });
    expect(service.output).toContain(
      'the sync of a commit failed (SQLITE_IOERR_FSYNC): ' +
        'the process ends, and the next start recovers the store from its log',
    );
    // The process wrote nothing back before it exited.
    expect(readFileSync(store.path).equals(file)).toBe(true);
    expect(statSync(`${store.path}-wal`).size).toBeGreaterThanOrEqual(log);

    const next = await ServiceProcess.start({ store, token: service.token });
    expect(await isStored(next, OAK)).toBe(true);
    await next.kill();
    expect(await store.plant(1n)).toMatchObject(OAK);
  });

  it("of a repository's write: exit 74, and no 200", async () => {
    const built = GuidedCopy.withGardens();
    const { disk, service } = await start(built.under);
    const write = async (id: number): Promise<number | undefined> => {
      const url = `http://127.0.0.1:${service.port}/gardens`;
      const headers = {
        authorization: `Bearer ${service.token}`,
        'content-type': 'application/json',
      };
      const body = `{"id":${id},"name":"g","isOpen":true}`;
      const sent = fetch(url, { method: 'POST', headers, body });
      return sent.then(({ status }) => status).catch(() => undefined);
    };
    expect(await write(1)).toBe(200);
    disk.arm(syncOf('log'));
    const statuses = await Promise.all([2, 3, 4].map(write));
    expect(statuses).not.toContain(200);
    expect(await service.exited).toEqual({ code: EX_IOERR, signal: null });
    expect(service.output).toContain('the sync of a commit failed (SQLITE_IOERR_FSYNC): ');
    const next = await ServiceProcess.start({ store, token: service.token, under: built.under });
    const rows = await store.rows<{ id: bigint }>('SELECT id FROM gardens ORDER BY id');
    expect(rows[0]).toEqual({ id: 1n });
    await next.kill();
    built.remove();
  });

  it('of the database file at a checkpoint: exit 74, and the log stays', async () => {
    const { disk, service } = await start();
    const client = service.client(1);
    const name = 'x'.repeat(60_000);
    const acknowledged: bigint[] = [];
    disk.arm(syncOf('database'));
    while (!disk.hasFailed) {
      const id = BigInt(acknowledged.length);
      const response = await client.create({ id, name }).catch(() => undefined);
      if (response?.status !== 200) break;
      acknowledged.push(id);
    }
    expect(await service.exited).toEqual({ code: EX_IOERR, signal: null });
    expect(service.output).toContain('a checkpoint failed (SQLITE_IOERR_FSYNC): ');
    expect(acknowledged.length).toBeGreaterThan(20);
    expect(statSync(`${store.path}-wal`).size).toBeGreaterThan(acknowledged.length * name.length);

    const next = await ServiceProcess.start({ store, token: service.token });
    await next.kill();
    const stored = new Set((await store.plants()).map(({ id }) => id));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(await store.rows('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  });

  it('of a start: it fails with one line, and the next start succeeds', async () => {
    const { disk, service } = await start();
    expect(await isStored(service, OAK)).toBe(true);
    await service.kill();
    disk.arm(syncOf('log'));
    expect(await runMain(store, { ...disk.env, MIGRATE: 'off' })).toMatchObject({
      code: EX_IOERR,
      stderr: 'error: DATABASE_URL: the store cannot be opened: disk I/O error\n',
    });
    const next = await ServiceProcess.start({ store, token: service.token });
    expect(await isStored(next, OAK)).toBe(true);
    await next.kill();
  });

  it('of a restore: exit 74, and a line on stderr', async () => {
    const cwd = store.folder;
    const restored = `${store.folder}/restored.sqlite`;
    for (const url of [store.url, `sqlite:${restored}`]) {
      await runCli(['migrate'], { cwd, env: { DATABASE_URL: url } });
    }
    await store.execute("INSERT INTO plants (id, name) VALUES (1, 'oak')");
    const backup = `${store.folder}/backup.sqlite`;
    await runCli(['backup', backup], { cwd, env: { DATABASE_URL: store.url } });
    const disk = new FaultyDisk(store.folder, restored);
    const env = { ...disk.env, DATABASE_URL: `sqlite:${restored}` };
    const target = Object.assign(Object.create(store) as typeof store, { path: restored });
    let last = '';
    // Each in turn: those of the file's id, then that of the plants.
    for (let sync = 1; ; sync++) {
      disk.arm(syncOf('log'), sync);
      const { code, stdout, stderr } = await runCli(['restore', backup], { cwd, env });
      if (code === 0) break;
      expect({ code, stdout }).toEqual({ code: EX_IOERR, stdout: '' });
      expect(stderr).toMatch(
        /^error: (DATABASE_URL: the store cannot be opened: disk I\/O error|disk I\/O error, and it is unknown whether the store was filled: .*)\n$/m,
      );
      expect(await target.count()).toBe(0);
      last = stderr;
    }
    expect(last).toContain('it is unknown whether the store was filled');
    expect(await target.count()).toBe(1);
  });

  it('of a new token: exit 74, nothing printed, and a line on stderr', async () => {
    const cwd = store.folder;
    await runCli(['migrate'], { cwd, env: { DATABASE_URL: store.url } });
    const disk = new FaultyDisk(cwd, store.path);
    disk.arm(syncOf('log'));
    const env = { ...disk.env, DATABASE_URL: store.url };
    expect(await runCli(['token', 'create', 'nursery'], { cwd, env })).toEqual({
      code: EX_IOERR,
      stdout: '',
      stderr: expect.stringMatching(
        /^error: disk I\/O error, and it is unknown whether a token was created: .*\n$/m,
      ),
    });
  });

  it('of one of two commits, while the store closes: no other succeeds, and the store stays open', async () => {
    const disk = new FaultyDisk(store.folder, store.path);
    const { stdin, stdout, exited } = spawnWriter(disk.env);
    expect(String(await once(stdout, 'data'))).toBe('open\n');
    disk.arm(syncOf('log'));
    stdin.end('\n');
    expect(await text(stdout)).toBe('');
    expect(await exited).toEqual([EX_IOERR, null]);
    expect(statSync(`${store.path}-wal`).size).toBeGreaterThan(0);
  });
});

/** A process that opens the store and, once it reads a line, commits twice at once and closes the store. */
function spawnWriter(env: Readonly<Record<string, string>>) {
  const program = `
    import { once } from 'node:events';
    import { readConfig } from '${resolve('dist/src/config/environment.js')}';
    import { openStore } from '${resolve('dist/src/database/store.js')}';
    const store = await openStore(readConfig());
    const commit = () => store.writer.query('${COMMIT_A_PAGE}');
    await commit();
    console.log('open');
    await once(process.stdin, 'data');
    for (const committed of [commit(), commit()]) committed.then(() => console.log('committed'), () => undefined);
    await store.destroy();
    console.log('closed');`;
  const path = join(store.folder, 'writer.mjs');
  writeFileSync(path, program);
  const child = spawn(process.execPath, [path], {
    env: { PATH: process.env.PATH, DATABASE_URL: store.url, ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  return Object.assign(child, { exited: once(child, 'exit') });
}
