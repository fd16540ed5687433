/** @engine sqlite */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { read } from '../support/published.js';

/** What these tests read of a workflow. */
interface Workflow {
  readonly jobs: Readonly<Record<string, { strategy?: { matrix: { node: string[] } } }>>;
}

it.each(globSync('.github/**/*.yml'))('%s is YAML', (path) => {
  expect(parse(read(path), { strict: true, uniqueKeys: true })).toBeInstanceOf(Object);
});

it('CI tests the oldest Node.js that package.json allows', () => {
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
  const { jobs } = parse(read('.github/workflows/ci.yml')) as Workflow;
  const oldest = jobs['node-24']?.strategy?.matrix.node[0];
  expect(`${oldest}`).toBe(`${engines.node.replace('>=', '')}.0`);
});

describe('.ci/release-notes', () => {
  const FILES = 'https://host.example/blob/v4.0.0';
  const print = (version: string) => {
    const { status, stdout } = spawnSync('sh', ['.ci/release-notes', version, FILES]);
    return { status, text: stdout.toString() };
  };
  const versions = [...read('CHANGELOG.md').matchAll(/^## \[(\d.*)\]/gm)];

  it.each(versions.map(([, version = '']) => version))('prints the section of %s', (version) => {
    const { status, text } = print(version);
    expect(status).toBe(0);
    expect(text).toMatch(/^\S/);
    expect(text).not.toMatch(/^## \[/m);
    const [, rest = ''] = read('CHANGELOG.md').split(`\n## [${version}]`);
    const [heading = '', ...lines] = (rest.split('\n## [')[0] ?? '').split('\n');
    expect(heading).toMatch(/^ - \d{4}-\d\d-\d\d$/);
    expect(text.replaceAll(`](${FILES}/`, '](').trim()).toBe(lines.join('\n').trim());
  });

  it('makes links to files absolute, and leaves others', () => {
    const links = versions.flatMap(([, version = '']) => {
      const { text } = print(version);
      return Array.from(text.matchAll(/\]\(([^)]*)\)/g), ([, target = '']) => target);
    });
    expect(links).toContainEqual(expect.stringContaining(`${FILES}/docs/`));
    expect(links.filter((target) => !target.startsWith('https:'))).toEqual([]);
  });

  it('refuses a version without a section', () => {
    expect(print('9.9.9')).toEqual({ status: 1, text: '' });
    expect(print('4.0').status).toBe(1);
  });
});
