/** @engine sqlite */
import { execFile } from 'node:child_process';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { cwd, makeFolder, run } from './commands.js';
import { forbidModules, runCli } from '../support/cli.js';
import { VERSION } from '../../src/config/config.js';
import { read } from '../support/published.js';

makeFolder();

describe('help', () => {
  it.each([
    ...['', 'serve', 'config', 'migrate', 'check', 'status', 'import', 'export', 'backup'],
    ...['restore', 'token create', 'token list', 'token rotate', 'token revoke', 'token verify'],
  ])('of "%s" has an example and needs no store', async (command) => {
    const { code, stdout, stderr } = await run(`${command} --help`.trim());
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/--env-file <file> +read variables/);
    expect(stdout).toMatch(/^Usage: bin\/plant-store [^]*Examples?\b.*:\n {2}\$ .*plant-store /);
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  // It takes longer to load than all the rest.
  it('loads no TypeORM', async () => {
    const env = forbidModules('node_modules/typeorm/');
    expect(await runCli(['--help'], { cwd, env })).toMatchObject({ code: 0 });
    const { stderr } = await runCli(['migrate'], { cwd, env });
    expect(stderr).toContain('loads file:');
  });

  it('of help and a name is that of the name with --help', async () => {
    expect(await run('help token rotate')).toEqual(await run('token rotate --help'));
    for (const line of ['help', '--help token'])
      expect(await run(line)).toEqual(await run('--help'));
  });

  it('lists the exit codes of docs/operating.md', async () => {
    const codes = (text: string, row: RegExp) =>
      Array.from(text.matchAll(row), ([, code, meaning]) => ({ code, meaning }));
    const listed = codes((await run('--help')).stdout, /^ {2}(\d{1,2}) +(.*)$/gm);
    expect(listed.map(({ code }) => code)).toEqual(['0', '1', '2', '74', '78']);
    const documented = codes(read('docs/operating.md'), /^\| (\d+) +\|[^|]*\| +([^| ].*?) +\|$/gm);
    expect(documented).toEqual(expect.arrayContaining(listed));
  });

  it.each([['serve'], [], ['--env-file', 'service.env']])(
    'tells that the service is the default: %j %j',
    async (...args) => {
      writeFileSync(join(cwd, 'service.env'), 'HOST=::1\n');
      expect(await runCli(args, { cwd, env: { PORT: 'x' } })).toEqual({
        code: 78,
        stdout: '',
        stderr:
          'error: Invalid configuration: PORT must be from 0 to 65535, not "x" (from environment)\n',
      });
    },
  );

  it.each(['--json', '--env-file=service.env --json', '--env-file service.env --json', '--'])(
    'starts no service with %s alone',
    async (line) => {
      writeFileSync(join(cwd, 'service.env'), '');
      expect(await runCli(line.split(' '), { cwd })).toMatchObject({ code: 2, stdout: '' });
    },
  );

  it('runs as a program under any name, whichever Node.js is first in PATH', async () => {
    const program = resolve('bin/plant-store');
    symlinkSync(program, join(cwd, 'plants'));
    writeFileSync(join(cwd, 'node'), '#!/bin/sh\nexit 9\n', { mode: 0o755 });
    const env = { PATH: `${cwd}:/usr/bin:/bin` };
    const run = promisify(execFile)(join(cwd, 'plants'), ['--version'], { cwd, env });
    expect(await run).toEqual({ stdout: `${VERSION}\n`, stderr: '' });
  });

  it.each(['--env-file /dev/null', '--env-file=/dev/null'])(
    'repeats %s in the commands that it tells',
    async (option) => {
      const program = resolve('bin/plant-store');
      const args = [...option.split(' '), 'token', 'verify', 'x'];
      await expect(promisify(execFile)(program, args, { cwd })).rejects.toMatchObject({
        stderr: expect.stringContaining(`| ${program} ${option} token verify\n`),
      });
    },
  );

  it.each(['--help', 'import x --token plant_x', 'token list --hash'])(
    '%s ends the same in its own process as in this one',
    async (line) => {
      expect(await runCli(line.split(' '), { cwd })).toEqual(await run(line));
    },
  );
});
