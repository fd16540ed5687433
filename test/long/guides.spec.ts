/** @engine sqlite */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { GuidedCopy } from '../support/guides.js';

it('the samples of CONTRIBUTING.md satisfy the compiler, all together', async () => {
  const guides = ['A new field of a plant', 'A second resource', 'A new operation'];
  const copy = new GuidedCopy(guides, ['gardens:write', 'plants:read']);
  const project = join(copy.folder, 'tsconfig.json');
  const compilerOptions = { rootDir: '.', noEmit: true, incremental: false, tsBuildInfoFile: null };
  const exclude = ['**/*.spec.ts'];
  const settings = {
    extends: resolve('tsconfig.json'),
    compilerOptions,
    include: ['src'],
    exclude,
  };
  writeFileSync(project, JSON.stringify(settings));
  const tsc = resolve('node_modules/typescript/bin/tsc');
  const ran = promisify(execFile)(process.execPath, [tsc, '--project', project]);
  const failed = (error: unknown) => ({
    stdout: (error as { stdout?: string }).stdout,
    stderr: String(error),
  });
  expect(await ran.catch(failed)).toEqual({ stdout: '', stderr: '' });
  copy.remove();
});
