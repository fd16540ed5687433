// A start, step 1 of 6: before any other file is loaded.
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const MIN_NODE_MAJOR = 24;

/** Beside the installed packages: who can write there can change the code too. */
const COMPILED = fileURLToPath(new URL('../../node_modules/.cache/plant-store', import.meta.url));

/** New files are for their owner alone: SQLite's contain plants and hashes of tokens. */
const UMASK = 0o077;

/**
 * Prepares Node.js before the program is loaded: new files are private, compiled code is kept for the next start.
 * Exits if Node.js is too old to load the program, and says what to do.
 */
export function prepareNode(): void {
  if (Number.parseInt(process.versions.node) >= MIN_NODE_MAJOR) {
    process.umask(UMASK);
    module.enableCompileCache(COMPILED);
    return;
  }
  process.stderr.write(
    `Node.js ${process.versions.node} is too old: the plant store needs Node.js ${MIN_NODE_MAJOR} or newer. ` +
      'npm has installed one: use `npm start`, `bin/plant-store` or node_modules/.bin/node.\n',
  );
  process.exit(1);
}
