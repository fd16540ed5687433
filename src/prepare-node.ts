import module from 'node:module';
import { fileURLToPath } from 'node:url';

const MIN_NODE_MAJOR = 24;

/** Beside what npm installs, so that whoever could change it could change the code as well. */
const COMPILED = fileURLToPath(new URL('../../node_modules/.cache/plant-store', import.meta.url));

/** What is made is for its user alone: above all SQLite's file and folder, which hold plants and tokens' hashes. */
const UMASK = 0o077;

/**
 * Ends the process, with a line that says what to do, under a Node.js that is too old for what is loaded
 * next; else has it keep what it compiles for the next start, where it may write there.
 */
export function prepareNode(): void {
  if (Number.parseInt(process.versions.node) >= MIN_NODE_MAJOR) {
    process.umask(UMASK);
    module.enableCompileCache(COMPILED);
    return;
  }
  process.stderr.write(
    `Node.js ${process.versions.node} is too old: the plant store needs Node.js ${MIN_NODE_MAJOR} or newer. ` +
      'npm has installed one: use `npm start`, `npx plant-store` or node_modules/.bin/node.\n',
  );
  process.exit(1);
}
