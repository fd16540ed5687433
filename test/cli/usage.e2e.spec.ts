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
  ])('of "%s" needs no store', async (command) => {
    const { code, stdout, stderr } = await run(`${command} --help`.trim());
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/--env-file <file> +read variables/);
    expect(stdout).toMatch(/^Usage: bin\/plant-store /);
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  it.each(['', 'import', 'export', 'backup', 'restore', 'token verify'])(
    'of "%s" has an example',
    async (command) => {
      const { stdout } = await run(`${command} --help`.trim());
      expect(stdout).toMatch(/\nExamples?\b.*:\n {2}\$ .*plant-store /);
    },
  );

  it('of "export" has examples that work', async () => {
    await run('migrate');
    const { stdout } = await run('export --help');
    const examples = Array.from(
      stdout.matchAll(/^ {2}\$ bin\/plant-store (.*?)( \|.*)?$/gm),
      ([, line = '']) => line,
    );
    expect(examples).toContain('export');
    for (const line of examples)
      expect([line, await run(line)]).toEqual([line, { code: 0, stdout: '', stderr: '' }]);
  });

  // It takes longer to load than all the rest.
  it('loads no TypeORM', async () => {
    const env = forbidModules('node_modules/typeorm/');
    expect(await runCli(['--help'], { cwd, env })).toMatchObject({ code: 0 });
    const { stderr } = await runCli(['migrate'], { cwd, env });
    expect(stderr).toContain('loads file:');
  });

  it('of help and a name is that of the name with --help', async () => {
    expect(await run('help status')).toEqual(await run('status --help'));
    expect(await run('token help rotate')).toEqual(await run('token rotate --help'));
    expect(await run('help')).toEqual(await run('--help'));
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

  it.each(['--jsn', '--env-file=service.env --jsn', '--env-file service.env x', 'x'])(
    'starts no service with %s',
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
      const args = [...option.split(' '), 'token', 'list'];
      await expect(promisify(execFile)(program, args, { cwd })).rejects.toMatchObject({
        stderr: expect.stringContaining(`\`${program} ${option} migrate\``),
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

const ONE_LINE =
  /^error: [^\n]+\n(\(Did you mean \w+\?\)\n)?(\(add --help for additional information\)\n)?$/;

describe('the token of an import', () => {
  const NO_FILE = { code: 1, stderr: "error: ENOENT: no such file or directory, open 'x'\n" };
  const runs = (options: string, env: Record<string, string>) => {
    writeFileSync(join(cwd, 'good'), 'plant_x\n');
    return run(`import x ${options}`.trim(), env);
  };

  it.each<[string, string, Record<string, string>]>([
    ['may be in a file', '', { PLANT_STORE_TOKEN_FILE: 'good', PLANT_STORE_TOKEN: '' }],
    ['is rather that of the option', '--token plant_y', { PLANT_STORE_TOKEN_FILE: 'none' }],
    // An address is no secret.
    ['is alone in having a file', '', { PLANT_STORE_TOKEN: 'x', PLANT_STORE_URL_FILE: 'none' }],
  ])('%s', async (_title, options, env) => {
    // With a token it gets as far as opening the file of plants.
    expect(await runs(options, env)).toMatchObject(NO_FILE);
  });

  it.each<[number, Record<string, string>, string]>([
    [78, { PLANT_STORE_TOKEN_FILE: 'none' }, 'PLANT_STORE_TOKEN_FILE must be a readable file'],
    [
      78,
      { PLANT_STORE_TOKEN_FILE: 'good', PLANT_STORE_TOKEN: 'y' },
      'PLANT_STORE_TOKEN and PLANT_STORE_TOKEN_FILE must not both be set',
    ],
  ])('exits with %i: %j', async (code, env, problem) => {
    const ran = await runs('', env);
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(ONE_LINE) });
    expect(ran.stderr).toContain(problem);
  });
});

it.each([
  ['tokn', "unknown command 'tokn'\n(Did you mean token?)"],
  ['config x', 'too many arguments'],
  ['token create', "missing required argument 'name'\n(add --help for additional information)"],
  ['token create x --expires 90', 'must be a duration in s, m, h, d or w, from 1s to'],
  ['token list --hash', "unknown option '--hash'"],
  ['token create 1st', "'1st' is invalid for argument 'name'. It must be a letter, then"],
  ['token rotate x --overlap 0', 'must be a duration in s, m, h, d or w, from 0s to 99999w'],
  ['token rotate x --expires 0s', 'must be a duration in s, m, h, d or w, from 1s to 99999w'],
  ['token verify plant_x', 'give the token on the standard input: others can see arguments'],
  ['token revoke', 'give a name, an id or --all'],
  ['token revoke x --all', 'and one of them only'],
  ['import x', 'no token: give one by'],
  ['import . --token t --rejects ./', 'would overwrite the file to import'],
  ['import x --token t --url ftp://host', 'must be an http or https URL'],
  [
    'import x --token t --url http://user:pass@host',
    "'http://…@host' is invalid. It must be an http or https URL, without credentials",
  ],
  ['backup -', 'not the standard output'],
])('bad usage: %s', async (line, message) => {
  const { code, stdout, stderr } = await run(line);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(ONE_LINE);
  expect(stderr).toContain(message);
  expect(existsSync(join(cwd, 'data'))).toBe(false);
});

it.each(['migrate', 'token list'])('a bad configuration makes %s fail', async (line) => {
  const bad = await run(line, { PORT: 'x', LOG_LEVEL: 'loud' });
  const problems = /^(error: Invalid configuration: (PORT|LOG_LEVEL) must [^\n]*\n){2}$/;
  expect(bad).toEqual({ code: 78, stdout: '', stderr: expect.stringMatching(problems) });
});
