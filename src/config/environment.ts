import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError } from './variable.js';
import { misspelledNames } from './misspelled.js';

/** The files of the variables that a file has set in this process, as the operator names them. */
const FILES = new Map<string, string>();

/** Where the value of a variable of this process comes from: `environment`, or the file that has set it. */
export function sourceOf(name: string): string {
  return FILES.get(name) ?? 'environment';
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
 * @returns what an operator should know, one line each: names that are probably typos
 * @throws ConfigError where the file cannot be read
 */
export function loadEnvironment(file?: string, others?: readonly string[]): string[] {
  const path = file ?? (existsSync('.env') ? '.env' : undefined);
  FILES.clear();
  if (path === undefined) return [];
  const found = readVariables(path, file !== undefined);
  for (const [name, value] of Object.entries(found)) {
    if (name in process.env) continue;
    process.env[name] = value;
    FILES.set(name, path);
  }
  return misspelledNames(Object.keys(found), others).map((name) => `${path}: ${name}`);
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
