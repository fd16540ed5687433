// Reads the text of an environment file.
import { parseEnv } from 'node:util';
import { VARIABLES } from './config.js';

/** A comment; a variable and its value, in quotes over several lines; another line. As parseEnv() reads them. */
const ENTRY = /[^\S\n]*[#;][^\n]*|([^=\n]*)=((?:[^\S\n]*(["'`])[^]*?\3)?[^\n]*)|[^\n]+/g;

/**
 * Reads variables by Node's parseEnv(), which alone would take blanks such as U+00A0, or a byte order mark, for a part of
 * a name.
 *
 * @returns the variables, and a warning for each line without effect: `3: PROT is unknown`. Values are not shown.
 */
export function parseEnvFile(content: string) {
  const text = content.replace(/\r\n?/g, '\n');
  const variables = new Map<string, string>();
  const warnings: string[] = [];
  for (const { 0: entry, 1: left, 2: right = '', index } of text.matchAll(ENTRY)) {
    if (/^\s*([#;]|$)/.test(entry)) continue;
    const name = left?.trim().replace(/^export\s+/, '');
    const warning = name === undefined ? 'ignored, as it has no =' : explainNoEffect(name);
    if (warning) warnings.push(`${text.slice(0, index).split('\n').length}: ${warning}`);
    if (name) variables.set(name, parseEnv(`X=${right.trim()}`).X ?? '');
  }
  return { variables, warnings };
}

/** Variables that others read: the driver, OpenTelemetry, Node.js, a shell, and `import`. */
const OTHER_VARIABLES = /^((PG|OTEL_|NODE_TLS_|SSL_|LC_|PLANT_STORE_)\w+|GIT_COMMIT|LANG|PATH|TZ)$/;

/** Node.js, libuv and config.ts read them at once. */
const EARLY_VARIABLES = /^(NODE_(?!TLS_)\w+|UV_\w+|PLANT_STORE_COMMAND)$/;

/** Other names may be a part of a key. */
const PRINTABLE_NAME = /^[A-Z_]{1,40}$/;

function explainNoEffect(name: string): string | undefined {
  const isKnown = VARIABLES.some(
    (one) => one.name === name || (one.parser.mask && `${one.name}_FILE` === name),
  );
  if (isKnown) return undefined;
  if (EARLY_VARIABLES.test(name))
    return `${name} works only in the environment, which is read first`;
  if (OTHER_VARIABLES.test(name)) return undefined;
  return `${PRINTABLE_NAME.test(name) ? name : 'the name'} is unknown`;
}
