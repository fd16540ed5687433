import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError } from './variable.js';
import { misspelledNames } from './misspelled.js';

/** What a file has added to the environment of this process. */
export interface Environment {
  /** The file, as the operator names it; undefined where there is none. */
  readonly file: string | undefined;
  /** The variables that it has set: those that the environment did not have. */
  readonly fromFile: ReadonlySet<string>;
  /** What an operator should know, one line each: names that are probably typos. */
  readonly warnings: readonly string[];
}

const QUOTED = String.raw`'[^']*'|"(?:\\[^]|[^"\\])*"`;
const BLANKS = String.raw`[^\S\n]*`;

/** An assignment: its name, the quoted parts of its value, and the rest, which may go on behind a backslash. */
const ASSIGNMENT = new RegExp(
  String.raw`^${BLANKS}([A-Za-z_]\w*)${BLANKS}=((?:${BLANKS}(?:${QUOTED}))*)((?:\\[^]?|[^\\\n])*)$`,
  'gm',
);

/**
 * Adds the variables of a file to those of this process, which win: of `.env` in the working directory where
 * there is one, or of an environment file of systemd instead.
 *
 * @param file path of the environment file
 * @param others variables that are not the configuration's, for what would be typos of them
 * @throws ConfigError where the file cannot be read
 */
export function loadEnvironment(file?: string, others?: readonly string[]): Environment {
  const path = file ?? (existsSync('.env') ? '.env' : undefined);
  const found = path === undefined ? {} : readVariables(path, file !== undefined);
  const fromFile = new Set(Object.keys(found).filter((name) => !(name in process.env)));
  const warnings = misspelledNames(Object.keys(found), others).map((name) => `${path}: ${name}`);
  for (const name of fromFile) process.env[name] = found[name];
  return { file: path, fromFile, warnings };
}

function readVariables(path: string, isSystemd: boolean): NodeJS.Dict<string> {
  try {
    const text = readFileSync(path, 'utf8');
    return isSystemd ? parseEnvironmentFile(text) : parseEnv(text);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${path} cannot be read (${code})`, { cause: error });
  }
}

/**
 * Reads systemd's format (systemd.exec(5), EnvironmentFile=). Other than in `.env`, a `#` within a value is no
 * comment, lines that begin with `;` are, and a line goes on behind a backslash.
 */
export function parseEnvironmentFile(text: string): Record<string, string> {
  const assignments = text.replace(/\r\n?/g, '\n').matchAll(ASSIGNMENT);
  return Object.fromEntries(
    Array.from(assignments, ([, name = '', quoted = '', rest = '']) => [
      name,
      unquote(quoted) + unescape(rest.trim()),
    ]),
  );
}

/** In double quotes a backslash stands before what a shell would expand, or joins lines; in single ones it is text. */
function unquote(parts: string): string {
  return Array.from(parts.matchAll(new RegExp(QUOTED, 'g')), ([part]) => {
    const inner = part.slice(1, -1);
    if (part.startsWith("'")) return inner;
    return inner.replace(/\\(["\\`$\n])/g, (_, char: string) => char.trim());
  }).join('');
}

function unescape(text: string): string {
  return text.replace(/\\([^]?)/g, (_, char: string) => (char === '\n' ? '' : char));
}
