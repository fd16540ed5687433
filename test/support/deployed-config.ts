import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VARIABLES, type Config } from '../../src/config/config.js';
import { readConfig } from '../../src/config/environment.js';
import { read } from './published.js';
import { pairsOf, stagesOf, textsOf } from './dockerfile.js';

const KNOWN = VARIABLES.flatMap(({ name, parser }) =>
  parser.isSecret ? [name, `${name}_FILE`] : [name],
);

/** The address that the deployments keep in a file. */
const ADDRESS = 'postgres://plants:secret@postgres:5432/plants';

/** The image's own variables. */
export const IMAGE_ENV = pairsOf(textsOf(stagesOf(read('Dockerfile')).at(-1) ?? [], 'ENV'));

/**
 * The configuration that the service reads from a deployment's environment, DATABASE_URL_FILE being
 * there.
 *
 * @throws Error where there is a variable that the service does not know, or a bad value
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

/** Milliseconds that a service with this configuration may take to stop. */
export function longestStop({ shutdownDelay, shutdownTimeout }: Config): number {
  return shutdownDelay + shutdownTimeout;
}

/** The variables of a file of `NAME=value` lines. */
export function variablesOf(text: string): Record<string, string> {
  const lines = text.matchAll(/^(\w+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}
