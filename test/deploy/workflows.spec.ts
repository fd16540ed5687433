/** @engine sqlite */
import { globSync } from 'node:fs';
import { expect, it } from '@jest/globals';
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
