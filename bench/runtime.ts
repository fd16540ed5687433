import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { WORK } from './processes.js';

/** A Node that servers run on. */
export interface Runtime {
  readonly node: string;
  readonly version: string;
}

/**
 * The Node that runs us, or another release of it, fetched from npm.
 *
 * @param release a major release, or more of a version: `24`, `24.21.0`
 * @throws Error where npm fails
 */
export function prepareRuntime(release?: string): Runtime {
  if (release === undefined) return { node: process.execPath, version: process.versions.node };
  if (!/^\d+(\.\d+){0,2}$/.test(release)) throw new Error('--node: not a release of Node');
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(WORK, `node${release}`);
  mkdirSync(folder, { recursive: true });
  const args = ['install', '--no-save', '--prefix', folder, `${name}@${release}`];
  execFileSync('npm', args, { cwd: folder, stdio: 'inherit' });
  const node = join(folder, 'node_modules', name, 'bin/node');
  const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
  return { node, version };
}
