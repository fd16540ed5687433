import { VARIABLES, type Config } from '../../src/config/config.js';
import { readConfig } from '../../src/config/environment.js';
import { read } from './published.js';

const KNOWN = Object.values(VARIABLES)
  .flatMap(({ name, parser }) => (parser.mask ? [name, `${name}_FILE`] : [name]))
  .concat('PLANT_STORE_COMMAND', 'GIT_COMMIT');

/** The instructions of the Dockerfile, each with the rest of its line. */
export const INSTRUCTIONS = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\s*\\\n\s*/g, ' ')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => ({ name: line.split(' ', 1).join(), text: line.replace(/^\S+ +/, '') }));

/** The instructions of its last stage, which makes the image. */
export const IMAGE = INSTRUCTIONS.slice(INSTRUCTIONS.findLastIndex(({ name }) => name === 'FROM'));

/** The image's own variables. */
export const IMAGE_ENV = pairsOf(textsOf(IMAGE, 'ENV'));

/** The version of package.json. */
export const { version: VERSION } = JSON.parse(read('package.json')) as { version: string };

/**
 * The configuration that the service reads from a deployment's environment, without DATABASE_URL_FILE: there is no such
 * file here.
 *
 * @throws Error for a variable that the service does not know, or a bad value
 */
export function deployedConfig(env: Readonly<Record<string, string>>): Config {
  const unknown = Object.keys(env).filter((name) => !KNOWN.includes(name));
  if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}`);
  return readConfig({ ...env, DATABASE_URL_FILE: '' });
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

/** The texts of all instructions of a name. */
export function textsOf(instructions: typeof INSTRUCTIONS, name: string): string[] {
  return instructions.filter((one) => one.name === name).map(({ text }) => text);
}

/** The `name=value` pairs of instructions such as ENV and LABEL. */
export function pairsOf(texts: readonly string[]): Record<string, string> {
  const pairs = texts.join(' ').matchAll(/([\w.]+)=(?:"([^"]*)"|(\S*))/g);
  return Object.fromEntries(
    [...pairs].map(([, name = '', quoted, bare = '']) => [name, quoted ?? bare]),
  );
}
