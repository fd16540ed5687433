import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VARIABLES, type Config } from '../../src/config/config.js';
import { readConfig } from '../../src/config/environment.js';
import { read } from './published.js';

const KNOWN = VARIABLES.flatMap(({ name, parser }) =>
  parser.mask ? [name, `${name}_FILE`] : [name],
).concat('PLANT_STORE_COMMAND', 'GIT_COMMIT');

/** The database URL that the deployments keep in a file. */
const ADDRESS = 'postgres://plants:secret@postgres:5432/plants';

/** The image's own variables. */
export const IMAGE_ENV = pairsOf(textsOf(stagesOf(read('Dockerfile')).at(-1) ?? [], 'ENV'));

/**
 * The configuration that the service reads from a deployment's environment. DATABASE_URL_FILE is
 * replaced by a file that exists.
 *
 * @throws Error for a variable that the service does not know, or a bad value
 */
export function deployedConfig(env: Readonly<Record<string, string>>): Config {
  const unknown = Object.keys(env).filter((name) => !KNOWN.includes(name));
  if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}`);
  if (!('DATABASE_URL_FILE' in env)) return readConfig(env);
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
  try {
    const file = join(folder, 'database-url');
    writeFileSync(file, `${ADDRESS}\n`);
    return readConfig({ ...env, DATABASE_URL_FILE: file });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The longest stop with this configuration, in milliseconds. */
export function longestStop({ shutdownDelay, shutdownTimeout }: Config): number {
  return shutdownDelay + shutdownTimeout;
}

/** The variables of a file of `NAME=value` lines. */
export function variablesOf(text: string): Record<string, string> {
  const lines = text.matchAll(/^(\w+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}

/** An instruction of a Dockerfile: its name, and the rest as one line. */
export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** The instructions of each stage of a Dockerfile in order. `[0]` has the `ARG`s before the first. */
export function stagesOf(dockerfile: string): Instruction[][] {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n');
  const stages: Instruction[][] = [[]];
  for (const line of lines.filter((one) => one !== '')) {
    const [name = '', ...words] = line.trim().split(/\s+/);
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push({ name, text: words.join(' ') });
  }
  return stages;
}

/** The texts of all instructions of a name. */
export function textsOf(stage: readonly Instruction[], name: string): string[] {
  return stage.filter((instruction) => instruction.name === name).map(({ text }) => text);
}

/** The `name=value` pairs of instructions such as ENV and LABEL. */
export function pairsOf(texts: readonly string[]): Record<string, string> {
  const pairs = texts.join(' ').matchAll(/([\w.]+)=(?:"([^"]*)"|(\S*))/g);
  return Object.fromEntries(
    [...pairs].map(([, name = '', quoted, bare = '']) => [name, quoted ?? bare]),
  );
}

/** The command and its arguments of an instruction in exec form. */
export function argumentsOf(text = ''): string[] {
  return JSON.parse(text.slice(text.indexOf('['))) as string[];
}
