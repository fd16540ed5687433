import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { transformFileSync } from '@swc/core';
import { read } from './published.js';

/** The files of the second resource of CONTRIBUTING.md, by their paths. */
function listFiles(): Map<string, string> {
  const [, section = ''] = read('CONTRIBUTING.md').split('\n## A second resource\n');
  const [text = ''] = section.split('\n## ');
  const blocks = text.matchAll(/^ *```ts\n *\/\/ (src\S+)\n([^]*?)^ *```$/gm);
  return new Map(Array.from(blocks, ([, path = '', code = '']) => [path, code]));
}

/** The built service with the second resource of CONTRIBUTING.md, in a copy of its own. */
export class ServiceWithGardens {
  private readonly folder = mkdtempSync(resolve('dist/gardens-'));
  /** The program. */
  readonly cli = join(this.folder, 'src/cli.js');

  constructor() {
    cpSync('dist/src', join(this.folder, 'src'), { recursive: true });
    for (const [path, code] of listFiles()) this.compile(path, code);
    this.insert(
      'src/database/schema.ts',
      "import { CreateGardens1800000000000 } from './migrations/1800000000000-create-gardens.js';",
      ['MIGRATIONS = [', 'CreateGardens1800000000000, '],
    );
    this.insert(
      'src/app.module.ts',
      "import { GardensModule } from './gardens/gardens.module.js';",
      ['DatabaseModule.forRoot(config), ', 'GardensModule, '],
    );
  }

  /** Options of a start of it. */
  get under(): readonly string[] {
    return ['sh', '-c', `exec "$0" '${this.cli}' serve`];
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  /** Inserts an import, and its name behind a text. */
  private insert(path: string, line: string, [before, name]: [string, string]): void {
    const text = readFileSync(path, 'utf8');
    if (!text.includes(before)) throw new Error(`${path} has no ${before}`);
    this.compile(path, `${line}\n${text.replace(before, before + name)}`);
  }

  private compile(path: string, text: string): void {
    const source = join(this.folder, path);
    mkdirSync(dirname(source), { recursive: true });
    writeFileSync(source, text);
    const { code } = transformFileSync(source, { configFile: resolve('.swcrc') });
    rmSync(source);
    writeFileSync(source.replace(/\.ts$/, '.js'), code);
  }
}
