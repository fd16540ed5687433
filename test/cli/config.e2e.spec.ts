/** @engine sqlite */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { cwd, makeFolder, run } from './commands.js';
import type { Ran } from '../support/cli.js';
import { VARIABLES } from '../../src/config/config.js';

makeFolder();

describe('config', () => {
  /** The rows of the printed table, by variable. */
  function rowsOf({ stdout }: Ran): Record<string, string[]> {
    const rows = stdout.split('\n').slice(1, -1);
    return Object.fromEntries(
      rows.map((row) => row.split(/ {2,}/)).map(([name = '', ...rest]) => [name, rest]),
    );
  }

  it('prints every variable, its value and its source, but no secret', async () => {
    writeFileSync(join(cwd, '.env'), 'PORT=4000\nHOST=::1\nRATE_LIMIT=\nPGUSER=plants\n');
    const url = 'postgres://u:hunter22@db.example:5432/plants?sslmode=require';
    writeFileSync(join(cwd, 'url'), `${url}\n`);
    const ran = await run('config', { HOST: '0.0.0.0', DATABASE_URL_FILE: 'url' });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).not.toContain('hunter22');
    const rows = rowsOf(ran);
    expect(Object.keys(rows)).toEqual(Object.values(VARIABLES).map(({ name }) => name));
    expect(rows).toMatchObject({
      PORT: ['4000', '.env'],
      HOST: ['0.0.0.0', 'environment'],
      RATE_LIMIT: ['-', 'default'],
      DATABASE_URL: [url.replace('hunter22', '***'), 'DATABASE_URL_FILE'],
      PUBLIC_URL: ['-', 'default'],
      SHUTDOWN_TIMEOUT: ['25s', 'default'],
    });
  });

  it('exits with 78 if invalid, and shows each bad value and its source unless secret', async () => {
    writeFileSync(join(cwd, '.env'), 'NODE_ENV=staging\n');
    const bad = { PORT: 'many', PUBLIC_URL: 'https://u:hunter22@h' };
    const ran = await run('config', bad);
    const problems =
      /^error: Invalid configuration: PORT .*\nerror: .* PUBLIC_URL .*\nerror: .* NODE_ENV .*\n$/;
    expect(ran).toMatchObject({ code: 78, stderr: expect.stringMatching(problems) });
    expect(rowsOf(ran)).toMatchObject({ PORT: ['(invalid)', 'environment'] });
    const json = await run('config --json', bad);
    expect(JSON.parse(json.stdout)).toEqual({
      variables: expect.arrayContaining([
        { name: 'DOCS', value: 'on', from: 'default' },
        { name: 'PORT', from: 'environment' },
      ]),
      problems: [
        'PORT must be from 0 to 65535, not "many" (from environment)',
        expect.stringMatching(/^PUBLIC_URL must be .* fragment \(from environment\)$/),
        'NODE_ENV must be one of production, development, test, not "staging" (from .env)',
      ],
      warnings: [],
    });
    expect(ran.stdout + ran.stderr + json.stdout).not.toContain('hunter22');
  });

  it('checks the TLS files', async () => {
    const ran = await run('config', { TLS_CERT_FILE: 'none', TLS_KEY_FILE: 'none' });
    expect(ran.code).toBe(78);
    const problem = 'TLS_CERT_FILE must be a readable file in UTF-8: none (ENOENT)';
    expect(ran.stderr).toMatch(`error: Invalid configuration: ${problem}\n`);
  });

  it.each(['mysql://h/plants', 'postgres://h/d?sslrootcert=/nope', 'sqlite:~/p.sqlite'])(
    'names no store if the address is invalid: %s',
    async (url) => {
      const ran = await run('config', { DATABASE_URL: url });
      expect(ran.code).toBe(78);
      expect(ran.stderr).toMatch(/^error: Invalid configuration: DATABASE_URL(:| must) [^\n]+\n$/);
      expect(rowsOf(ran)).toMatchObject({ DATABASE_URL: ['(invalid)', 'environment'] });
    },
  );

  it('lists each conflict of several variables', async () => {
    const ran = await run('config', { TLS_CERT_FILE: 'x', AUTH_AUDIENCE: 'x' });
    expect(ran).toMatchObject({ code: 78, stderr: expect.stringMatching(/^(error: .*\n){2}$/) });
    for (const names of ['TLS_KEY_FILE must', 'AUTH_ISSUER and AUTH_AUDIENCE must'])
      expect(ran.stderr).toContain(names);
  });

  it.each(['config', 'migrate'])('%s warns of lines without effect', async (command) => {
    writeFileSync(join(cwd, '.env'), 'foo\nPORT=1\nSECRET=x\nNODE_OPTIONS=--inspect\n');
    const { code, stderr } = await run(command);
    expect(code).toBe(0);
    expect(stderr.trimEnd().split('\n')).toEqual([
      'warning: .env:1: ignored, as it has no NAME=value',
      'warning: .env:3: SECRET is unknown, or works only in the environment',
      'warning: .env:4: NODE_OPTIONS is unknown, or works only in the environment',
    ]);
  });

  it.each(['config --env-file FILE', '--env-file FILE config', 'config --env-file=FILE'])(
    'reads the named file instead of .env: %s',
    async (line) => {
      writeFileSync(join(cwd, '.env'), 'HOST=::1\n');
      writeFileSync(join(cwd, 'service.env'), 'PORT=4000\n');
      const rows = rowsOf(await run(line.replace('FILE', 'service.env')));
      expect(rows).toMatchObject({ PORT: ['4000', 'service.env'], HOST: ['127.0.0.1', 'default'] });
    },
  );

  it('reads neither form of a variable from the file if the environment has one', async () => {
    writeFileSync(join(cwd, '.env'), 'DATABASE_URL_FILE=none\n');
    const rows = rowsOf(await run('config', { DATABASE_URL: 'sqlite:x' }));
    expect(rows).toMatchObject({ DATABASE_URL: ['sqlite:x', 'environment'] });
  });

  it('reads one whose variable in the environment is empty, or only has a similar name', async () => {
    writeFileSync(join(cwd, '.env'), 'DATABASE_URL=sqlite:f\nTLS_CERT_FILE=c\n');
    const empty = { DATABASE_URL: '', DATABASE_URL_FILE: '' };
    const rows = rowsOf(await run('config', { ...empty, TLS_CERT: 'x' }));
    expect(rows).toMatchObject({
      DATABASE_URL: ['sqlite:f', '.env'],
      TLS_CERT_FILE: [expect.anything(), '.env'],
    });
  });

  it.each([
    ['none', 'none (ENOENT)'],
    ['utf16', 'utf16 (ERR_ENCODING_INVALID_ENCODED_DATA)'],
    ['latin1', 'latin1 (ERR_ENCODING_INVALID_ENCODED_DATA)'],
  ])('exits with 78 if the file is %s', async (file, problem) => {
    writeFileSync(join(cwd, 'utf16'), '\uFEFFPORT=1\n', 'utf16le');
    writeFileSync(join(cwd, 'latin1'), '# é\n', 'latin1');
    const rule = '--env-file must be a readable file in UTF-8';
    const stderr = `error: Invalid configuration: ${rule}: ${problem}\n`;
    expect(await run(`config --env-file ${file}`)).toMatchObject({ code: 78, stderr });
  });

  it('names .env if that cannot be read', async () => {
    mkdirSync(join(cwd, '.env'));
    const problem = '.env must be a readable file in UTF-8: .env (EISDIR)';
    const stderr = `error: Invalid configuration: ${problem}\n`;
    expect(await run('config')).toMatchObject({ code: 78, stderr });
  });
});
