import {
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { cli, contentOf, fillWith, makeToken } from './support/backups.js';
import { file, source, target } from './support/two-stores.js';

async function change(sql: string): Promise<void> {
  await source.execute(`${sql}; PRAGMA journal_mode = DELETE`);
  writeFileSync(file, readFileSync(source.path));
}

const backUp = async (): Promise<number> => {
  await makeToken(source, 'nursery');
  await source.execute(fillWith(5_000));
  await cli(source, `backup ${file}`);
  return statSync(file).size;
};

it.each<[what: string, spoil: () => unknown, message: string]>([
  ['missing', () => undefined, 'backup.sqlite: the backup cannot be opened: there is no file '],
  ['a folder', () => mkdirSync(file), 'backup.sqlite is not a file\n'],
  ['empty', () => writeFileSync(file, ''), 'it is not a plant store\n'],
  ['NDJSON', () => writeFileSync(file, '{"id":1,"name":"x"}\n'.repeat(999)), 'is not a database'],
  [
    'of another program',
    () => change('DROP TABLE plants; DROP TABLE migrations'),
    'it is not a plant store',
  ],
  [
    'of an older version',
    () => change("DELETE FROM migrations WHERE name LIKE 'Add%'"),
    'its schema is not up to date',
  ],
  [
    'of a newer version',
    () => change("INSERT INTO migrations (timestamp, name) VALUES (9, 'Newer9')"),
    'its schema is of a newer version',
  ],
  ['cut by half', async () => truncateSync(file, (await backUp()) / 2), 'malformed'],
  ['cut by a byte', async () => truncateSync(file, (await backUp()) - 1), 'its end is missing'],
  [
    'damaged',
    async () => {
      await backUp();
      const bytes = readFileSync(file);
      bytes.fill(0xff, 4_096 * 20, 4_096 * 21);
      writeFileSync(file, bytes);
    },
    'the backup is damaged: ',
  ],
])('a backup that is %s is refused in one line', async (_what, spoil, message) => {
  await spoil();
  const before = await contentOf(target);
  const { code, stdout, stderr } = await cli(target, `restore ${file}`);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error: [^\n]+\n$/);
  expect(stderr).toContain(message);
  expect(await contentOf(target)).toEqual(before);
});

it('a backup never takes the place of the store', async () => {
  // Nothing beside the file tells then that it is one.
  await source.execute('PRAGMA journal_mode = DELETE');
  const before = await contentOf(source);
  symlinkSync(source.path, join(source.folder, 'link'));
  for (const place of [source.path, 'data/../data/store.sqlite', 'link']) {
    for (const command of ['backup', 'export']) {
      expect(await cli(source, `${command} ${place}`)).toEqual({
        code: 1,
        stdout: '',
        stderr: `error: ${place} is the store itself\n`,
      });
    }
  }
  expect(await contentOf(source)).toEqual(before);
});
