/** @engine sqlite */
import { once } from 'node:events';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runQuietly } from '../support/cli.js';
import { runMain, spawnMain } from '../support/service-process.js';
import { SqliteStore } from '../support/sqlite-store.js';

let store: SqliteStore;
beforeEach(() => {
  store = new SqliteStore();
});
afterEach(() => store.remove());

describe('a store that cannot be opened', () => {
  it.each([
    ['file/store.sqlite', 'file is not a folder'],
    ['file/new/store.sqlite', 'file is not a folder'],
    ['broken/store.sqlite', 'broken'],
    ['file', 'file is not a database'],
    // Linux has a file system without new folders, in which the user may or may not write.
    [existsSync('/proc/self') ? '/proc/x/y' : '/dev/null/x', 'cannot create|cannot write|not a fo'],
  ])('%s', async (path, reason) => {
    writeFileSync(`${store.folder}/file`, 'x'.repeat(5000));
    symlinkSync('none', `${store.folder}/broken`);
    const env = { DATABASE_URL: `sqlite:${resolve(store.folder, path)}` };
    // Creates a store as a start does.
    const { code, stderr } = await runQuietly(['migrate'], { cwd: store.folder, env });
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^error: DATABASE_URL: .*(${reason}).*\n$`));
  });
});

it('a signal ends a start that waits for the store, and the log says so', async () => {
  // It accepts connections, and never responds.
  const silent = createServer();
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const { port } = silent.address() as AddressInfo;
  const child = spawnMain(store, { DATABASE_URL: `postgres://plants@127.0.0.1:${port}/plants` });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const closed = once(child, 'close');
  await once(silent, 'connection');
  child.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
  expect(output).toMatch(/SIGTERM: stopped before the service listened\n$/);
  silent.close();
});

describe('a failed start reports on stderr', () => {
  it('a store that cannot be opened', async () => {
    mkdirSync(store.path, { recursive: true });
    const { code, stdout, stderr } = await runMain(store, { LOG_LEVEL: 'info' });
    // Only the line that names the store.
    const line = expect.stringMatching(new RegExp(`^plant-store .*store: SQLite ${store.path}\n$`));
    expect({ code, stdout }).toEqual({ code: 1, stdout: line });
    expect(stderr).toMatch(/^error: DATABASE_URL: the store cannot be opened: .+\n$/);
  });

  it.each(['20.20.2', '24.10.0'])('a Node.js %s, and how to get another', async (version) => {
    const older = `Object.defineProperty(process,'versions',{value:{node:'${version}'}})`;
    const env = { NODE_OPTIONS: `--import data:text/javascript,${older}` };
    expect(await runMain(store, env)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(`^Node\\.js ${version} is too old: .*\`npm start\`.*\\n$`),
      ),
    });
  });

  it('every bad variable by name, without the values of secrets, after the lines of .env that are ignored: exit 78', async () => {
    writeFileSync(
      join(store.folder, '.env'),
      'PROT=3000\nLOG_LEVEL: debug\nNODE_EXTRA_CA_CERTS=\n',
    );
    const bad = {
      PORT: '65536',
      DATABASE_URL: 'mysql://SECRET',
      PUBLIC_URL: 'ftp://SECRET',
      BODY_LIMIT: 'SECRET',
      DOCS: 'SECRET',
      LOG_LEVEL: 'SECRET',
      NODE_ENV: 'SECRET',
    };
    const { code, stdout, stderr } = await runMain(store, bad);
    expect(code).toBe(78);
    expect(stdout.match(/(?<=\[Configuration\] ).*/g)).toEqual([
      '.env:1: PROT is unknown',
      '.env:2: ignored, as it has no =',
      expect.stringMatching(/^\.env:3: NODE_EXTRA_CA_CERTS works only in the environment/),
    ]);
    expect(stderr).toMatch(/^(error: Invalid configuration: [^\n]*\n)*$/);
    const lines = stderr
      .trimEnd()
      .split(/\n?error: Invalid configuration: /)
      .slice(1);
    expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual(Object.keys(bad).sort());
    const secret = lines.find((line) => line.startsWith('DATABASE_URL '));
    expect(secret).toMatch(/ \(from environment\)$/);
    expect(secret).not.toContain('SECRET');
    expect(lines[0]).toContain(', not "65536" (from environment)');
  });

  it.each(['PORT', 'MANAGEMENT_PORT'])('a %s in use by another process', async (name) => {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const env = { [name]: `${port}`, LOG_LEVEL: 'info' };
    const { code, stdout, stderr } = await runMain(store, env);
    server.close();
    expect(existsSync(dirname(store.path))).toBe(false);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: expect.stringMatching(/^plant-store .*\n$/),
      stderr: expect.stringMatching(
        new RegExp(
          `^error: Port ${port} is in use by another process, perhaps .* status\\): stop that one, or set ${name} to another port\\..*\n$`,
        ),
      ),
    });
  });

  it('a foreign HOST, before health is announced and a store made', async () => {
    const HOST = '192.0.2.1';
    const env = {
      HOST,
      MANAGEMENT_HOST: 'nohost.invalid',
      MANAGEMENT_PORT: '0',
      LOG_LEVEL: 'info',
    };
    const { code, stdout, stderr } = await runMain(store, env);
    const advice = 'must be an address of this machine, or 0.0.0.0 or :: for all of them';
    expect({ code, stderr }).toEqual({ code: 1, stderr: `error: HOST ${advice}, not ${HOST}.\n` });
    expect(stdout).toMatch(/^plant-store [^\n]+\n$/);
    expect(existsSync(dirname(store.path))).toBe(false);
  });

  it('in production as a line of JSON each', async () => {
    const env = { NODE_ENV: 'production', PORT: 'x', LOG_LEVEL: 'y' };
    const { code, stderr } = await runMain(store, env);
    expect(code).toBe(78);
    const lines = stderr.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual(
      ['PORT', 'LOG_LEVEL'].map((name) =>
        expect.objectContaining({
          level: 'fatal',
          context: 'PlantStore',
          msg: expect.stringMatching(`^Invalid configuration: ${name} must `),
        }),
      ),
    );
  });
});
