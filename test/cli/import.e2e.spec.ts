/** @engine sqlite */
import { spawn } from 'node:child_process';
import { openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { FIRST_ID, importing, NOTHING, plants, service, startServices } from './imports.js';
import { runHere, runQuietly } from '../support/cli.js';

startServices();

/** The plants that went to the file `r.ndjson`. */
function readRejects(): object[] {
  const rejects = readFileSync(join(service.store.folder, 'r.ndjson'), 'utf8').trimEnd();
  return rejects.split('\n').map((line) => JSON.parse(line) as object);
}

describe('import', () => {
  it('stores the plants of a file with every digit, each once', async () => {
    const file = join(service.store.folder, 'plants.ndjson');
    writeFileSync(file, plants(630));
    const url = `http://127.0.0.1:${service.port}/plants`;
    const args = ['import', file, '--url', url, '--token', service.token];
    for (const time of ['first', 'second']) {
      expect({ time, ...(await runHere(args, { cwd: service.store.folder })) }).toEqual({
        time,
        code: 0,
        stdout: 'sent 630, stored 630, refused 0\n',
        stderr: `service: http://127.0.0.1:${service.port}/plants\n`,
      });
      const stored = await service.store.plants();
      expect(stored.map(({ id }) => id)).toEqual(
        Array.from({ length: 630 }, (_, i) => FIRST_ID + BigInt(i)),
      );
      expect(stored[1]).toEqual({ id: FIRST_ID + 1n, name: `plant ${FIRST_ID + 1n}`, tag: '木' });
    }
  });

  it('reports line and reason of every refused plant', async () => {
    const lines = ['{"id":1,"name":"Alder"}', '', 'nope', '{"id":1e99,"name":"x"}', '{"id":2}'];
    const { code, stdout, stderr } = await importing(lines.join('\n'));
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'sent 4, stored 1, refused 3\n' });
    expect(stderr.trimEnd().split('\n')).toEqual([
      "line 3: error 1000: the body is not valid JSON: JSON value expected but got 'n' at position 0",
      'line 4: error 1003: id must be an integer from -2^63 to 2^63-1, not 1e99',
      'line 5: error 1003: name is missing',
    ]);
    const toFile = await importing(lines.join('\n'), ['--rejects', 'r.ndjson']);
    expect(toFile).toEqual({ code, stdout, stderr: '' });
    expect(readRejects()).toEqual([
      {
        line: 3,
        error: 1000,
        message: "the body is not valid JSON: JSON value expected but got 'n' at position 0",
        plant: 'nope',
      },
      expect.objectContaining({ line: 4, error: 1003, plant: '{"id":1e99,"name":"x"}' }),
      { line: 5, error: 1003, message: 'name is missing', plant: '{"id":2}' },
    ]);
  });

  it('prints its summary as JSON with --json', async () => {
    const { code, stdout } = await importing('{"id":1,"name":"Alder"}\nnope\n', ['--json']);
    expect({ code, sum: JSON.parse(stdout) as unknown }).toEqual({
      code: 1,
      sum: { complete: true, answeredLines: 2, stored: 1, refused: 1, ignoredFields: {} },
    });
  });

  it.each(['link', '-'])('never overwrites its input: %s', async (file) => {
    const { folder } = service.store;
    const input = join(folder, 'input.ndjson');
    writeFileSync(input, plants(3));
    symlinkSync('input.ndjson', join(folder, 'link'));
    const args = ['import', file, '--rejects', 'input.ndjson', '--token', 'x'];
    const child = spawn(process.execPath, [resolve('dist/src/cli.js'), ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH },
      stdio: [openSync(input, 'r'), 'ignore', 'pipe'],
    });
    expect(await text(child.stderr as Readable)).toContain('would overwrite the file to import');
    expect(readFileSync(input, 'utf8')).toBe(plants(3));
  });

  it.each([
    ['nofile', /^error: nofile: no such file or directory\n$/],
    ['.', /^error: \. is a folder\n$/],
  ])('fails with one line on the file %s', async (file, message) => {
    const args = ['import', file, '--token', 'x'];
    const { code, stderr } = await runQuietly(args, { cwd: service.store.folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });

  it('fails on a standard input without plants, unless --allow-empty is given', async () => {
    const cwd = service.store.folder;
    const importEmpty = (...more: string[]) =>
      runQuietly(['import', '-', '--token', 'x', ...more], { cwd, input: '\n' });
    const stdout = 'sent 0, stored 0, refused 0\n';
    const stderr = 'error: the standard input has no plants: if that is right, use --allow-empty\n';
    expect(await importEmpty()).toEqual({ code: 1, stdout, stderr });
    expect(await importEmpty('--allow-empty')).toEqual({ code: 0, stdout, stderr: '' });
  });

  it.each(['[{"id":1,"name":"Alder"}]', 'id,name\n1,Alder\n2,Oak'])(
    'refuses %j as a whole, and sends nothing',
    async (input) => {
      expect(await importing(input)).toEqual({
        code: 1,
        stdout: NOTHING,
        stderr: 'error: stopped: not NDJSON: each line must be a whole JSON object\n',
      });
    },
  );
});

describe('fields that the service ignores', () => {
  const MISSPELT = '{"id":1,"name":"Alder","tga":"Alnus"}\n{"id":2,"name":"Oak"}\n';

  it('counts fields that the service ignores, of stored plants', async () => {
    const third = '{"id":3,"name":"Ash","tga":{"name":1},"\\u001b[2J":2,"__proto__":3}';
    const input = `${MISSPELT}${third}\n{"id":4,"tga":1}\n`;
    const sum = 'sent 4, stored 3, refused 1';
    expect(await importing(input)).toEqual({
      code: 1,
      stdout: `${sum}\nignored fields: tga (2),  [2J (1), __proto__ (1)\n`,
      stderr: 'line 4: error 1003: name is missing\n',
    });
    const { stdout } = await importing(input, ['--json']);
    const { ignoredFields } = JSON.parse(stdout) as { ignoredFields: object };
    expect(Object.entries(ignoredFields)).toEqual([
      ['tga', 2],
      ['\u001B[2J', 1],
      ['__proto__', 1],
    ]);
  });

  it('--strict refuses plants with such fields, and does not send them', async () => {
    expect(await importing(MISSPELT, ['--strict', '--rejects', 'r.ndjson'])).toEqual({
      code: 1,
      stdout: 'sent 1, stored 1, refused 1\nignored fields: tga (1)\n',
      stderr: '',
    });
    expect((await service.store.plants()).map(({ id }) => id)).toEqual([2n]);
    const [plant] = MISSPELT.split('\n');
    const message = 'the service would ignore tga';
    expect(readRejects()).toEqual([{ line: 1, error: null, message, plant }]);
    expect((await importing(MISSPELT, ['--strict'])).stderr).toBe(`line 1: ${message}\n`);
  });
});
