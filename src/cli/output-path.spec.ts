/** @engine sqlite */
import { execFileSync } from 'node:child_process';
import { lchownSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { runHere } from '../../test/support/cli.js';
import { readConfig } from '../config/environment.js';
import { makeFile } from './new-file.js';
import { findOutput, openOutput } from './output-path.js';

/** A folder of our own, and a path in one that everyone can write to. */
let folder: string;
let shared: string;
let target: string;
beforeEach(() => {
  folder = mkdtempSync('/tmp/plant-store-output-');
  shared = `${folder}.ndjson`;
  target = join(folder, 'target');
  writeFileSync(target, 'old');
});
afterEach(() => {
  jest.restoreAllMocks();
  for (const path of [folder, shared]) rmSync(path, { recursive: true, force: true });
});

/** Has another user own a path. Only root can do so; whoever else runs the tests becomes another one. */
function giveAway(path: string): void {
  const user = userInfo().uid;
  if (user === 0) lchownSync(path, 1, 1);
  else jest.spyOn(process, 'geteuid').mockReturnValue(user + 1);
}

const PLANTED = /: another user made \/tmp\/\S+, in a folder that everyone can write to: remove it/;

/** The ways in which commands write a file that is named. Each resolves to what it printed if it fails. */
const WRITERS: [string, (file: string) => Promise<string>][] = [
  [
    'backup and export',
    (file) =>
      makeFile(file, readConfig({}), (path) => {
        writeFileSync(path, 'new');
        return Promise.resolve('');
      }).catch(String),
  ],
  [
    'import --rejects',
    async (file) => {
      const args = ['import', '-', '--token', 't', '--url', 'http://127.0.0.1:1'];
      return (await runHere([...args, '--rejects', file], { cwd: folder })).stderr;
    },
  ],
];

it.each(WRITERS)("%s: not to, or through, what is another user's in /tmp", async (_who, write) => {
  symlinkSync(target, shared);
  // Also where a link of our own leads there.
  const own = join(folder, 'own');
  symlinkSync(`../${shared.slice('/tmp/'.length)}`, own);
  giveAway(shared);
  for (const file of [shared, own]) expect(await write(file)).toMatch(PLANTED);
  rmSync(shared);
  for (const make of [() => execFileSync('mkfifo', [shared]), () => writeFileSync(shared, '')]) {
    make();
    giveAway(shared);
    expect(await write(shared)).toMatch(PLANTED);
    rmSync(shared);
  }
  expect(readFileSync(target, 'utf8')).toBe('old');
});

it.each<[string, () => void]>([
  ['a link', () => symlinkSync(target, shared)],
  ['a file', () => writeFileSync(shared, '')],
])('import --rejects: not to %s that another user makes in /tmp meanwhile', (_what, make) => {
  const { geteuid } = process;
  const asks = jest.spyOn(process, 'geteuid').mockImplementationOnce(() => {
    make();
    return geteuid?.() ?? 0;
  });
  expect(() => openOutput(shared)).toThrow('EEXIST');
  expect(asks).toHaveBeenCalledTimes(1);
  expect(readFileSync(target, 'utf8')).toBe('old');
});

it.each(['/dev/stdout', '/dev/stderr'])('import --rejects: to %s, a pipe', (file) => {
  const args = `import - --strict --token t --url http://127.0.0.1:1 --rejects ${file}`;
  const line = `echo '{"id":1,"y":2}' | "$0" dist/src/cli.js ${args} 2>&1 | cat`;
  const printed = execFileSync('bash', ['-c', line, process.execPath], { encoding: 'utf8' });
  expect(printed).toContain('{"line":1,"error":null,"message":"the service would ignore y"');
});

it.each(WRITERS)('%s: through links of our own, also in /tmp', async (_who, write) => {
  symlinkSync(target, shared);
  expect(await write(shared)).not.toMatch(PLANTED);
  expect(readFileSync(target, 'utf8')).not.toBe('old');
});

it('a link leads to what is not there yet, too, and a loop of links nowhere', () => {
  symlinkSync('none', join(folder, 'dangling'));
  expect(findOutput(join(folder, 'dangling')).path).toBe(join(folder, 'none'));
  symlinkSync('loop', join(folder, 'loop'));
  expect(() => findOutput(join(folder, 'loop'))).toThrow('more than 40 links');
});
