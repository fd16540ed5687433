import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { transformFileSync } from '@swc/core';
import { read } from './published.js';

/** What a copy of the project has: what the guides change, and what they are checked with. */
const COPIED = ['contract', 'docs', 'src', 'openapi.json', 'package.json'];

/** A block of code of a guide. */
interface Sample {
  readonly path: string;
  /** Where it goes in the file of this path; a new file without it. */
  readonly how: 'above' | 'below' | 'in place of' | undefined;
  readonly line: string;
  readonly code: string;
}

/** The samples of CONTRIBUTING.md under some of its headings. Their first line says where they go. */
function listSamples(headings: readonly string[]): Sample[] {
  const sections = read('CONTRIBUTING.md').split(/^## /m);
  const chosen = sections.filter((text) => headings.includes(text.split('\n', 1)[0] ?? ''));
  if (chosen.length < headings.length) throw new Error(`not all there: ${headings.join(', ')}`);
  const first = /^ *(?:\/\/|#) ([\w./-]+)(?:, (above|below|in place of) "(.*)")?\n/;
  return chosen.flatMap((section) =>
    Array.from(
      section.matchAll(/^( *)```(?:ts|yaml)\n([^]*?)^ *```$/gm),
      ([, indent = '', text = '']) => {
        const code = text.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
        const [start = '', path = '', how, line = ''] = first.exec(code) ?? [];
        if (path === '') throw new Error(`a sample that does not say where it goes: ${code}`);
        return { path, how: how as Sample['how'], line, code: code.slice(start.length) };
      },
    ),
  );
}

/** Puts a sample into the text of its file, indented as the line that it names; its imports at the top. */
function paste(text: string, { how, line, code }: Sample): string {
  const imports = code.match(/^import .*\n/gm)?.join('') ?? '';
  const rest = code.replaceAll(/^import .*\n/gm, '').replace(/^\n/, '');
  // An engineer may have followed the guide to the letter.
  if (squeeze(text).includes(squeeze(rest))) return text;
  const lines = text.split('\n');
  const places = lines.flatMap((found, at) => (found.trim().startsWith(line) ? [at] : []));
  if (places.length === 0) throw new Error(`no line begins with: ${line}`);
  for (const at of places.reverse()) {
    const indent = /^ */.exec(lines[at] ?? '')?.[0] ?? '';
    const added = rest.trimEnd().replaceAll(/^(?=.)/gm, indent);
    if (how === 'above') lines.splice(at, 0, added, '');
    else if (how === 'below') lines.splice(at + 1, 0, '', added);
    else lines.splice(at, 1, added);
  }
  return imports + lines.join('\n');
}

function squeeze(code: string): string {
  return code.replaceAll(/\s/g, '');
}

/** A copy of the project in which guides of CONTRIBUTING.md were followed as they stand. */
export class GuidedCopy {
  readonly folder = mkdtempSync(resolve('dist/guide-'));
  /** The program. */
  readonly cli = join(this.folder, 'dist/src/cli.js');

  /**
   * @param headings those of the guides
   * @param scopes what is added to SCOPES
   * @param given whether tokens of the service have them
   */
  constructor(headings: readonly string[], scopes: readonly string[] = [], given = false) {
    for (const path of COPIED) cpSync(path, join(this.folder, path), { recursive: true });
    for (const sample of listSamples(headings)) this.follow(sample);
    for (const scope of scopes) {
      this.insert('src/auth/scopes.ts', 'SCOPES = [', `'${scope}', `);
      if (given) this.insert('src/auth/scopes.ts', 'readonly Scope[] = [', `'${scope}', `);
    }
    this.build();
  }

  /** A copy with gardens, for tokens of the service: a second module, which a repository writes. */
  static withGardens(): GuidedCopy {
    return new GuidedCopy(['A second resource'], ['gardens:write'], true);
  }

  /** Options of a start of it. */
  get under(): readonly string[] {
    return ['sh', '-c', `exec "$0" '${this.cli}' serve`];
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  private follow(sample: Sample): void {
    const { path, how, code } = sample;
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, how === undefined ? code : paste(readFileSync(file, 'utf8'), sample));
    // The steps that the guides have in words.
    const [, migration] = /export class (\w+) implements MigrationInterface/.exec(code) ?? [];
    if (migration)
      this.insert('src/database/schema.ts', 'MIGRATIONS = [', `${migration}, `, migration, path);
    const [, module] = /export class (\w+Module) /.exec(code) ?? [];
    if (module) this.insert('src/app.module.ts', 'imports: [', `${module}, `, module, path);
  }

  /** Inserts a text behind another one, and an import of a name from a file. */
  private insert(path: string, before: string, text: string, name?: string, from = ''): void {
    const file = join(this.folder, path);
    const old = readFileSync(file, 'utf8');
    if (name !== undefined && old.includes(`import { ${name} }`)) return;
    if (!old.includes(before)) throw new Error(`${path} has no ${before}`);
    const depth = '../'.repeat(path.split('/').length - 2) || './';
    const module = from.replace(/^src\//, depth).replace(/\.ts$/, '.js');
    const line = name === undefined ? '' : `import { ${name} } from '${module}';\n`;
    writeFileSync(file, line + old.replace(before, before + text));
  }

  private build(): void {
    for (const path of globSync('src/**/*.ts', { cwd: this.folder })) {
      if (path.endsWith('.spec.ts')) continue;
      const { code } = transformFileSync(join(this.folder, path), {
        configFile: resolve('.swcrc'),
      });
      const file = join(this.folder, 'dist', path.replace(/\.ts$/, '.js'));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, code);
    }
  }
}
