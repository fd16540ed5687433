/** @engine sqlite */
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runMain } from '../support/service-process.js';
import { SqliteStore } from '../support/sqlite-store.js';

let store: SqliteStore;
beforeEach(() => {
  store = new SqliteStore();
});
afterEach(() => store.remove());

describe('a failed start reports on stderr', () => {
  it.each([
    ['a folder', () => mkdirSync(store.path, { recursive: true })],
    ['a file that is not a database', () => writeFileSync(made(store.path), 'x'.repeat(5000))],
  ])('a store that is %s', async (_name, spoil) => {
    spoil();
    const { code, stdout, stderr } = await runMain(store, { LOG_LEVEL: 'info' });
    // Only the line that names the store.
    const line = expect.stringMatching(new RegExp(`^plant-store .*store: SQLite ${store.path}\n$`));
    expect({ code, stdout }).toEqual({ code: 1, stdout: line });
    expect(stderr).toMatch(/^error: DATABASE_URL: the store cannot be opened: .+\n$/);
  });

  it.each([
    ['file/store.sqlite', 'file is not a folder'],
    ['file/new/store.sqlite', 'file is not a folder'],
    ['broken/store.sqlite', 'broken'],
  ])('a store in a folder that cannot be created: %s', async (path, reason) => {
    writeFileSync(`${store.folder}/file`, '');
    symlinkSync('none', `${store.folder}/broken`);
    const { code, stderr } = await runMain(store, {
      DATABASE_URL: `sqlite:${store.folder}/${path}`,
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: DATABASE_URL: .+\n$/);
    expect(stderr).toContain(`${store.folder}/${reason}`);
  });

  it('a store in a file system without new folders', async () => {
    // Linux has one, in which the user may or may not write.
    const path = existsSync('/proc/self') ? '/proc/x' : '/dev/null/x';
    const { code, stderr } = await runMain(store, { DATABASE_URL: `sqlite:${path}/y/z.sqlite` });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: DATABASE_URL: .*(cannot create folder|cannot write to|is not a folder).*\n$/,
    );
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

  it('every bad variable by name, without the values of secrets: exit 78', async () => {
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
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
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

  const takePort = async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { server, PORT: String((server.address() as AddressInfo).port) };
  };

  it('a port in use by another process', async () => {
    const { server, PORT } = await takePort();
    const { code, stderr } = await runMain(store, { PORT, LOG_LEVEL: 'fatal' });
    server.close();
    expect(existsSync(dirname(store.path))).toBe(false);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        `^error: Port ${PORT} is in use by another process, perhaps .* status\\): stop that one, or set PORT `,
      ),
    });
  });

  it.each([
    ['nohost.invalid', '192.0.2.1'],
    ['192.0.2.1', 'nohost.invalid'],
  ])('HOST=%s, before health is announced and a store made', async (HOST, MANAGEMENT_HOST) => {
    const env = { HOST, MANAGEMENT_HOST, MANAGEMENT_PORT: '0', LOG_LEVEL: 'info' };
    const { code, stdout, stderr } = await runMain(store, env);
    const advice = 'must be an address of this machine, or 0.0.0.0 or :: for all of them';
    expect({ code, stderr }).toEqual({ code: 1, stderr: `error: HOST ${advice}, not ${HOST}.\n` });
    expect(stdout).toMatch(/^plant-store [^\n]+\n$/);
    expect(existsSync(dirname(store.path))).toBe(false);
  });

  it('an invalid configuration, after the lines of .env that are ignored', async () => {
    writeFileSync(
      join(store.folder, '.env'),
      'PROT=3000\nLOG_LEVEL: debug\nNODE_EXTRA_CA_CERTS=\n',
    );
    const { code, stdout } = await runMain(store, { DOCS: 'x', LOG_LEVEL: 'warn' });
    expect(code).toBe(78);
    expect(stdout.match(/(?<=\[Configuration\] ).*/g)).toEqual([
      '.env:1: PROT is unknown',
      '.env:2: ignored, as it has no =',
      expect.stringMatching(/^\.env:3: NODE_EXTRA_CA_CERTS works only in the environment/),
    ]);
  });

  it('in production as a line of JSON each', async () => {
    const { server, PORT } = await takePort();
    const busy = await runMain(store, { NODE_ENV: 'production', PORT });
    server.close();
    const invalid = await runMain(store, { NODE_ENV: 'production', PORT: 'x', LOG_LEVEL: 'y' });
    expect([busy, invalid].map(({ code }) => code)).toEqual([1, 78]);
    const lines = `${busy.stderr}${invalid.stderr}`.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual(
      [
        expect.stringMatching(/^Port \d+ is in use by another process/),
        expect.stringMatching(/^Invalid configuration: PORT must /),
        expect.stringMatching(/^Invalid configuration: LOG_LEVEL must /),
      ].map((msg) => expect.objectContaining({ level: 'fatal', context: 'PlantStore', msg })),
    );
  });
});

/** Creates the folder of a path. Returns the path. */
function made(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  return path;
}
