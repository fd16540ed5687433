/** @engine sqlite */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runHere, type Ran } from '../support/cli.js';
import { VARIABLES } from '../../src/config/config.js';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'plant-store-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const run = (line: string, env: Record<string, string> = {}): Promise<Ran> =>
  runHere(line.split(' '), { cwd, env });

describe('config', () => {
  /** The rows of the printed table, by variable. */
  function rowsOf({ stdout }: Ran): Record<string, string[]> {
    const rows = stdout.split('\n').slice(1, -1);
    return Object.fromEntries(
      rows.map((row) => {
        const [name = '', ...rest] = row.split(/ {2,}/);
        return [name, rest] as const;
      }),
    );
  }

  it('prints every variable, its value and its source, but no secret', async () => {
    writeFileSync(join(cwd, '.env'), 'PORT=4000\nHOST=::1\nBODY_LIMIT=\nPGUSER=plants\n');
    writeFileSync(join(cwd, 'headers'), 'authorization=Bearer%20hunter22\n');
    const ran = await run('config', {
      HOST: '0.0.0.0',
      DATABASE_URL: 'postgres://u:hunter22@db.example:5432/plants?sslmode=require',
      OTEL_EXPORTER_OTLP_HEADERS_FILE: 'headers',
    });
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stderr).toMatch(/store: PostgreSQL db\.example:5432, database plants\n$/);
    expect(ran.stdout + ran.stderr).not.toContain('hunter22');
    const rows = rowsOf(ran);
    expect(Object.keys(rows)).toEqual(VARIABLES.map(({ name }) => name));
    expect(rows).toMatchObject({
      PORT: ['4000', '.env'],
      HOST: ['0.0.0.0', 'environment'],
      BODY_LIMIT: ['64kb', 'default'],
      DATABASE_URL: ['postgres://u:***@db.example:5432/plants?sslmode=require', 'environment'],
      OTEL_EXPORTER_OTLP_HEADERS: ['***', 'OTEL_EXPORTER_OTLP_HEADERS_FILE'],
      PUBLIC_URL: ['-', 'default'],
      SHUTDOWN_TIMEOUT: ['25s', 'default'],
    });
  });

  it('exits with 78 if invalid, and shows each bad value and its source unless secret', async () => {
    writeFileSync(join(cwd, '.env'), 'NODE_ENV=staging\n');
    const bad = { PORT: 'many', PUBLIC_URL: 'https://u:hunter22@h' };
    const ran = await run('config', bad);
    expect(ran.code).toBe(78);
    expect(ran.stderr).toMatch(/^error: Invalid configuration: PORT [^\n]*; PUBLIC_URL [^\n]*\n$/);
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
    });
    expect(ran.stdout + ran.stderr + json.stdout).not.toContain('hunter22');
  });

  it('checks the TLS files', async () => {
    const { code, stderr } = await run('config', { TLS_CERT_FILE: 'none', TLS_KEY_FILE: 'none' });
    expect(code).toBe(78);
    expect(stderr).toContain('TLS_CERT_FILE must name a file that can be read: none (ENOENT)');
  });

  it.each(['config --env-file FILE', '--env-file FILE config', 'config --env-file=FILE'])(
    'reads the named file instead of .env: %s',
    async (line) => {
      writeFileSync(join(cwd, '.env'), 'HOST=::1\n');
      writeFileSync(join(cwd, 'service.env'), `; no\nPORT="4000"\nAUTH_SCOPE='a#b'\n`);
      const ran = await run(line.replace('FILE', 'service.env'));
      expect(rowsOf(ran)).toMatchObject({
        PORT: ['4000', 'service.env'],
        AUTH_SCOPE: ['a#b', 'service.env'],
        HOST: ['127.0.0.1', 'default'],
      });
    },
  );

  it('exits with 78 if the given file is missing', async () => {
    const { code, stderr } = await run('config --env-file none');
    expect({ code, stderr }).toEqual({
      code: 78,
      stderr: 'error: Invalid configuration: none cannot be read (ENOENT)\n',
    });
  });
});
