/** @engine sqlite */
import { spawn } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { cli, fillWith, makeStores, source, target } from './backups.js';
import { untilEnd } from '../support/cli.js';
import type { TemporaryStore } from '../support/temporary-store.js';

makeStores();

const MIB = 2 ** 20;

/** Runs a command whose output a shell sends to a file, and which may make no file larger than 1 MiB. */
async function redirect(store: TemporaryStore, line: string, to = '>>out') {
  // In blocks of 512 bytes.
  const script = `ulimit -f 2048; exec "$0" "$@" ${to}`;
  const args = [process.execPath, resolve('dist/src/cli.js'), ...line.split(' ')];
  const child = spawn('sh', ['-c', script, ...args], {
    cwd: store.folder,
    env: { PATH: process.env.PATH, DATABASE_URL: store.url },
  });
  const { code, stderr } = await untilEnd(child);
  return { code, stderr };
}

/** Tells of each token whether it never expires. */
async function tokensOf(store: TemporaryStore): Promise<object> {
  const { stdout } = await cli(store, 'token list --json');
  const tokens = JSON.parse(stdout) as { name: string; expiresAt: string | null }[];
  return tokens.map(({ name, expiresAt }) => [name, expiresAt === null]);
}

const unwritten = (reason: string) => ({ code: 74, stderr: `error: standard output: ${reason}\n` });
const FULL = unwritten('ENOSPC: no space left on device, write');
const CUT = unwritten('EFBIG: file too large, write');

describe('output that does not fit', () => {
  it.each(['migrate', 'check', 'config', 'status', 'token list', 'export', '--help', '--version'])(
    'ends %s with 74 and the reason',
    async (line) => {
      await target.execute("INSERT INTO plants (id, name) VALUES (1, 'a')");
      expect(await redirect(target, line, '>/dev/full')).toEqual(FULL);
    },
  );

  it('ends a backup, which is made all the same, and its check with 74 and the reason', async () => {
    for (const line of ['backup b.sqlite', 'backup --verify b.sqlite'])
      expect(await redirect(target, line, '>/dev/full')).toEqual(FULL);
  });

  it('is noticed where it is closed', async () => {
    const args = ['-c', '"$0" --version >&-', resolve('bin/plant-store')];
    const closed = { code: 74, stdout: '', stderr: 'error: standard output is closed\n' };
    expect(await untilEnd(spawn('sh', args))).toEqual(closed);
  });

  it('is noticed in the midst of an export', async () => {
    await source.execute(fillWith(50_000));
    expect(await redirect(source, 'export')).toEqual(CUT);
    expect(statSync(join(source.folder, 'out')).size).toBe(MIB);
  });

  it('issues no token, and a rotation leaves the old one as it is', async () => {
    // Only 10 bytes of the secret fit.
    writeFileSync(join(target.folder, 'out'), 'x'.repeat(MIB - 10));
    expect(await redirect(target, 'token create nursery')).toEqual(CUT);
    for (const line of ['token create nursery', 'token create nursery --json'])
      await redirect(target, line, '| true');
    expect(await tokensOf(target)).toEqual([]);
    await cli(target, 'token create nursery');
    for (const end of ['>/dev/full', '| true'])
      await redirect(target, 'token rotate nursery --overlap 0s', end);
    expect(await tokensOf(target)).toEqual([['nursery', true]]);
  });

  it('names the command that revokes a token which could not be removed', async () => {
    await target.execute(
      "CREATE TRIGGER keep BEFORE DELETE ON tokens BEGIN SELECT RAISE(ABORT, 'kept'); END",
    );
    const { code, stderr } = await redirect(target, 'token create nursery', '>/dev/full');
    expect({ code, stderr }).toEqual({
      code: 74,
      stderr:
        'warning: the token nursery (1), which was not printed, may still be active: kept; ' +
        `run \`bin/plant-store token revoke 1\`\n${FULL.stderr}`,
    });
    expect(await cli(target, 'token revoke 1')).toMatchObject({ code: 0 });
  });
});
