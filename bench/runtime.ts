import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, WORK } from './processes.js';

/** A Node, and the folder of a project that runs on it. */
export interface Runtime {
  readonly node: string;
  readonly version: string;
  readonly root: string;
}

/**
 * The Node that runs us and the project as it is; or another release of Node, fetched from npm, and
 * a copy of the project that is built for it.
 *
 * @param release a major release, or more of a version: `24`, `24.21.0`
 * @throws Error where npm fails
 */
export function prepareRuntime(release?: string): Runtime {
  if (release === undefined) {
    return { node: process.execPath, version: process.versions.node, root: ROOT };
  }
  if (!/^\d+(\.\d+){0,2}$/.test(release)) throw new Error('--node: not a release of Node');
  const root = join(WORK, `node${release}`);
  const home = installNode(release, join(root, 'runtime'));
  const node = join(home, 'bin/node');
  const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
  copyProject(root, home, version);
  return { node, version, root };
}

/** Fetches Node; its folder has `bin`, and `include` for native parts. */
function installNode(release: string, folder: string): string {
  const name = `node-${process.platform}-${process.arch}`;
  mkdirSync(folder, { recursive: true });
  npm(['install', '--no-save', '--prefix', folder, `${name}@${release}`], { cwd: folder });
  return join(folder, 'node_modules', name);
}

/** Copies the project as it is installed here, and builds its one native part for that Node. */
function copyProject(root: string, home: string, version: string): void {
  const stamp = join(root, 'installed');
  const wanted = version + readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    copy('package.json', root);
    copy('node_modules', root);
    // PATH says what Node npm runs on, the variable where its headers are.
    const env = {
      ...process.env,
      PATH: `${home}/bin:${process.env.PATH}`,
      npm_config_nodedir: home,
    };
    npm(['rebuild', 'better-sqlite3'], { cwd: root, env });
    writeFileSync(stamp, wanted);
  }
  copy('dist', root);
}

function copy(name: string, root: string): void {
  rmSync(join(root, name), { recursive: true, force: true });
  cpSync(join(ROOT, name), join(root, name), { recursive: true, verbatimSymlinks: true });
}

function npm(args: readonly string[], options: { cwd: string; env?: NodeJS.ProcessEnv }): void {
  execFileSync('npm', args, { ...options, stdio: 'inherit' });
}
