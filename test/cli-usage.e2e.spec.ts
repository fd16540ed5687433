import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runCli, type Ran } from './support/cli.js';
import { runHere } from './support/cli-in-process.js';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'plant-store-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const run = (line: string, env: Record<string, string> = {}): Promise<Ran> =>
  runHere(line.split(' '), { cwd, env });
const ONE_LINE = /^error: [^\n]+\n$/;

describe('help', () => {
  it.each([
    '--help',
    'token create --help',
    'token list --help',
    'token rotate --help',
    'token revoke --help',
    'migrate --help',
    'import --help',
    'export --help',
    'backup --help',
    'restore --help',
  ])('%s has an example and needs no store', async (line) => {
    const { code, stdout, stderr } = await run(line);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: plant-store [^]*Examples?\b.*:\n {2}\$ .*plant-store /);
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  it('names the exit codes', async () => {
    expect((await run('--help')).stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 /);
  });

  it('can be run as a program of its own', () => {
    const program = readFileSync(new URL('../dist/src/cli.js', import.meta.url), 'utf8');
    expect(program).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  it.each(['--help', 'tokn', 'import x', 'import x --token plant_x', 'token list --hash'])(
    'a process of %s ends as the command does in this one',
    async (line) => {
      expect(await runCli(line.split(' '), { cwd })).toEqual(await run(line));
    },
  );
});

describe('a variable of a command', () => {
  it('may name a file with its value', async () => {
    writeFileSync(join(cwd, 'token'), 'not a token\n');
    const { code, stderr } = await run('import x', { PLANT_STORE_TOKEN_FILE: 'token' });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching('no valid token') });
    writeFileSync(join(cwd, 'token'), 'plant_x\n');
    // Now it has a token, and comes so far as to look for the plants.
    const ran = await run('import x', { PLANT_STORE_TOKEN_FILE: 'token' });
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: ENOENT.*'x'/) });
  });

  it.each([
    ['the command line wins over a file', '--token plant_y', { PLANT_STORE_TOKEN_FILE: 'bad' }],
    ['the command line wins over a variable', '--token plant_y', { PLANT_STORE_TOKEN: 'not one' }],
    [
      'a file wins over an empty variable',
      '',
      { PLANT_STORE_TOKEN_FILE: 'good', PLANT_STORE_TOKEN: '' },
    ],
  ])('%s', async (_title, options, env) => {
    writeFileSync(join(cwd, 'bad'), 'not a token\n');
    writeFileSync(join(cwd, 'good'), 'plant_x\n');
    const ran = await run(`import x ${options}`.trim(), env);
    // It has a token, and comes so far as to look for the plants.
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: ENOENT.*'x'/) });
  });

  it('that is no secret has no such file', async () => {
    const env = { PLANT_STORE_URL_FILE: 'none', PLANT_STORE_TOKEN: 'plant_x' };
    const ran = await run('import x', env);
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: ENOENT.*'x'/) });
  });

  it.each([
    ['import x', { PLANT_STORE_TOKEN_FILE: 'none' }, 'PLANT_STORE_TOKEN_FILE must name a file'],
    [
      'import x',
      { PLANT_STORE_TOKEN_FILE: 'x', PLANT_STORE_TOKEN: 'y' },
      'PLANT_STORE_TOKEN and PLANT_STORE_TOKEN_FILE must not both be set',
    ],
  ])('%s %j', async (line, env, problem) => {
    const { code, stdout, stderr } = await run(line, env);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(ONE_LINE);
    expect(stderr).toContain(problem);
  });
});

describe('bad usage', () => {
  it.each([
    ['tokn', "unknown command 'tokn' (Did you mean token?)"],
    ['token create', "missing required argument 'name'"],
    ['token create x --expires 90', 'A duration is a whole number'],
    ['token list --hash', "unknown option '--hash'"],
    ['token rotate', "missing required argument 'name'"],
    ['token rotate x --overlap 0', 'A duration is a whole number'],
    ['token rotate x --expires 0s', 'A duration is a whole number'],
    ['token revoke', 'either a name or id or --all-created-before'],
    ['token revoke x --all-created-before 2026-11-21', 'either a name or id or'],
    ['token revoke --all-created-before 2026-02-30', 'A date is like 2026-11-21'],
    ['token revoke --all-created-before 2026-11-21T13:40', 'a time has a zone'],
    ['import', "missing required argument 'file'"],
    ['backup', "missing required argument 'file'"],
    ['restore x y', 'too many arguments'],
    ['export --all', "unknown option '--all'"],
    ['import x', 'no valid token'],
    ['import x --token', "option '--token <token>' argument missing"],
    ['import x --token t --url ftp://host', 'not an http or https URL'],
    ['import x --token t --concurrency 0', 'not a whole number from 1 to 1024'],
    ['import x --token t --tries many', 'not a whole number from 1 to 99'],
    ['import x --token t --rejects ./x', 'would overwrite the file to import'],
  ])('%s', async (line, message) => {
    const { code, stdout, stderr } = await run(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(ONE_LINE);
    expect(stderr).toContain(message);
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  it('never shows a token', async () => {
    const { code, stderr } = await run('import x', { PLANT_STORE_TOKEN: 'se\ncret' });
    expect(code).toBe(2);
    expect(stderr).not.toContain('cret');
  });
});

describe('a bad configuration or store', () => {
  it.each(['migrate', 'token list'])('fails %s in one line', async (line) => {
    const bad = await run(line, { PORT: 'x', LOG_LEVEL: 'loud' });
    expect(bad).toMatchObject({ code: 1, stdout: '' });
    expect(bad.stderr).toMatch(/^error: Invalid configuration: PORT [^\n]*; LOG_LEVEL [^\n]*\n$/);
    const folder = await run(line, { DATABASE_URL: 'sqlite:.' });
    expect(folder).toMatchObject({ code: 1, stdout: '' });
    expect(folder.stderr).toMatch(/^error: DATABASE_URL: the store cannot be opened[^\n]*\n$/);
  });
});
