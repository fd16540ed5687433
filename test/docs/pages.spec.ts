/** @engine sqlite */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { read } from '../support/published.js';

const { version, scripts } = JSON.parse(read('package.json')) as {
  version: string;
  scripts: Record<string, string>;
};

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  return Array.from(read(page).matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

it.each(globSync('{*.md,docs/*.md,drill/*.md}'))(
  'the links of %s lead to existing files and headings',
  (page) => {
    const links = read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g);
    for (const [link, path = '', anchor] of links) {
      const target = path === '' ? page : join(dirname(page), path);
      expect({ link, isThere: existsSync(target) }).toEqual({ link, isThere: true });
      if (anchor !== undefined) expect([link, ...anchorsOf(target)]).toContain(anchor);
    }
  },
);

describe('the folders of src in docs/architecture.md', () => {
  const [, section = ''] = read('docs/architecture.md').split('\n## The folders of `src`\n');
  const [table = ''] = section.split('\n## ');
  const matches = table.matchAll(/^\| `(\w+)` +\| +(\d+) \|/gm);
  const rows = Array.from(matches, ([, folder = '', said = '']) => [folder, said] as const);

  it('are those of .dependency-cruiser.js, in its order', () => {
    const folders = read('.dependency-cruiser.js').matchAll(/^ {2}'(\w+)',$/gm);
    expect(rows.map(([name]) => name)).toEqual(Array.from(folders, ([, name]) => name));
  });

  it.each(rows)('have so many lines, to a tenth: %s', (folder, said) => {
    const files = globSync(`src/${folder}/**/*.ts`).filter((path) => !path.endsWith('.spec.ts'));
    const lines = files.reduce((sum, path) => sum + read(path).split('\n').length - 1, 0);
    expect({
      folder,
      lines,
      isNear: Math.abs(lines - Number(said)) <= Math.max(40, lines / 10),
    }).toEqual({ folder, lines, isNear: true });
  });
});

/** The last release: the package of `4.1.1-dev` comes after 4.1.0. */
const released = version.replace(/\d+-dev$/, (next) => `${parseInt(next) - 1}`);

it("CHANGELOG.md has the package's version first, with its date (keepachangelog.com)", () => {
  const [, latest, date] = /^## \[(\d.*)\] - (.*)$/m.exec(read('CHANGELOG.md')) ?? [];
  expect({ latest, date }).toEqual({
    latest: released,
    date: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
  });
});

it.each(['docs/operating.md', 'docs/deploying.md'])(
  '%s installs that version, and no tag',
  (name) => {
    const page = read(name);
    expect(page).not.toContain('git clone --branch');
    const versions = [...page.matchAll(/(?:plant-store[-:]|release )(\d+\.\d+\.\d+)/g)];
    expect(new Set(versions.map(([, found]) => found))).toEqual(new Set([released]));
    // A clone may have no tags: the commit is found by its message.
    const [find] = /git log [^`)]+/.exec(page) ?? [];
    const run = (command: string) => execFileSync('sh', ['-c', command]).toString().trim();
    const commit = run(find ?? '');
    expect(commit).toMatch(/^[0-9a-f]{40}$/);
    expect(JSON.parse(run(`git show ${commit}:package.json`))).toMatchObject({ version: released });
  },
);

describe('SECURITY.md', () => {
  const text = read('SECURITY.md');

  it.each([...new Set(text.match(/(?<=`)(src|test)\/[\w./-]+(?=`)/g))])('%s exists', (path) => {
    expect(existsSync(`${path}.spec.ts`)).toBe(true);
  });

  it.each([...new Set(text.match(/(?<=`npm run )[\w:]+/g))])('npm run %s exists', (name) => {
    expect(scripts[name]).toBeDefined();
  });
});
