/** @engine sqlite */
import { spawn } from 'node:child_process';
import { openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { importing, NOTHING, plants, service, startServices } from './imports.js';
import { runHere } from '../support/cli.js';

startServices();

/** The plants that went to the file `r.ndjson`. */
function readRejects(): object[] {
  const rejects = readFileSync(join(service.store.folder, 'r.ndjson'), 'utf8').trimEnd();
  return rejects.split('\n').map((line) => JSON.parse(line) as object);
}

describe('import', () => {
  it('reports line and reason of every refused plant', async () => {
    const lines = ['{"id":1,"name":"Alder"}', '', 'nope', '{"id":1e99,"name":"x"}', '{"id":2}'];
    const rejects = [
      [3, 1000, "the body is not valid JSON: JSON value expected but got 'n' at position 0"],
      [4, 1003, 'id must be an integer from -2^63 to 2^63-1'],
      [5, 1003, 'name is missing'],
    ].map(([line, error, message]) => ({ line, error, message, plant: lines[Number(line) - 1] }));
    const ran = { code: 1, stdout: 'sent 4, stored 1, refused 3\n', stderr: '' };
    const reasons = rejects.map(
      ({ line, error, message }) => `line ${line}: error ${error}: ${message}\n`,
    );
    expect(await importing(lines.join('\n'))).toEqual({ ...ran, stderr: reasons.join('') });
    expect(await importing(lines.join('\n'), ['--rejects', 'r.ndjson'])).toEqual(ran);
    expect(readRejects()).toEqual(rejects);
  });

  it('recognises the response to every way in which a plant can be written', async () => {
    const lines = [
      String.raw`{"\u0069d":7.0,"name":"\ud83c\udf35 \u00fc\n\/","tag":"\u2028"}`,
      '{"name":"\u2028木e\u0301","id":8e0,"name":"\\u2028木e\u0301","tag":"","tag":""}\r',
      ' { "id" : 9007199254740993 , "name" : "" , "__proto__" : { "tag" : "x" } , "x" : 1e400 } ',
    ];
    const outcome = { code: 0, stdout: expect.stringMatching(/^sent 3, stored 3, /), stderr: '' };
    for (let time = 0; time < 2; time++)
      expect(await importing(`\ufeff${lines.join('\n')}`)).toEqual(outcome);
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

  it('fails on a folder', async () => {
    const ran = await runHere(['import', '.', '--token', 'x'], { cwd: service.store.folder });
    expect(ran).toEqual({ code: 1, stdout: '', stderr: 'error: . is a folder\n' });
  });

  it('fails on a standard input without plants', async () => {
    const { folder: cwd } = service.store;
    expect(await runHere(['import', '-', '--token', 'x'], { cwd, input: '\n' })).toEqual({
      code: 1,
      stdout: 'sent 0, stored 0, refused 0\n',
      stderr: 'error: the standard input has no plants\n',
    });
  });

  it.each(['[{"id":1,"name":"Alder"}]', 'id,name\n1,Alder\n2,Oak'])(
    'refuses %j as a whole, and sends nothing',
    async (input) => {
      expect(await importing(input)).toEqual({
        code: 1,
        stdout: NOTHING,
        stderr: 'error: stopped: not NDJSON: each line must be a whole JSON object, in UTF-8\n',
      });
    },
  );
});

describe('fields that the service ignores', () => {
  const MISSPELT = '{"id":1,"name":"Alder","tga":"Alnus"}\n{"id":2,"name":"Oak"}\n';

  it('counts fields that the service ignores, of stored plants', async () => {
    const third =
      '{"id":3,"name":"Ash","tga":{"name":1},"\\u001b[2J":2,"__proto__":3,"createdBy":4}';
    const input = `${MISSPELT}${third}\n{"id":4,"tga":1}\n`;
    expect(await importing(input)).toEqual({
      code: 1,
      stdout:
        'sent 4, stored 3, refused 1\n' +
        'ignored fields: tga (2), \\u001b[2J (1), __proto__ (1), createdBy (1)\n',
      stderr: 'line 4: error 1003: name is missing\n',
    });
    const { stdout } = await importing(input, ['--json']);
    const { ignoredFields, ...report } = JSON.parse(stdout) as { ignoredFields: object };
    expect(report).toEqual({
      complete: true,
      answeredLines: 4,
      ...{ sent: 4, stored: 3, refused: 1, notSent: 0 },
    });
    expect(Object.entries(ignoredFields)).toEqual([
      ['tga', 2],
      ['\u001B[2J', 1],
      ['__proto__', 1],
      ['createdBy', 1],
    ]);
  });

  it('counts those beyond the first hundred names together: each line may have a new one', async () => {
    const lines = Array.from({ length: 110 }, (_, id) => `{"id":${id},"name":"Oak","f${id}":1}\n`);
    const { stdout } = await importing(lines.join(''));
    expect(stdout).toContain(' f99 (1), (others) (10)\n');
  });

  it('--strict refuses plants with such fields, and does not send them', async () => {
    expect(await importing(MISSPELT, ['--strict', '--rejects', 'r.ndjson'])).toEqual({
      code: 1,
      stdout: 'not sent 1, sent 1, stored 1, refused 0\n',
      stderr: '',
    });
    expect((await service.store.plants()).map(({ id }) => id)).toEqual([2n]);
    const [plant] = MISSPELT.split('\n');
    const message = 'the service would ignore tga';
    expect(readRejects()).toEqual([{ line: 1, error: null, message, plant }]);
    expect((await importing(MISSPELT, ['--strict'])).stderr).toBe(`line 1: ${message}\n`);
  });
});
