import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { createRequire } from 'node:module';
import process from 'node:process';

/**
 * For Node's `--import`: when the process ends, writes the addresses of all scripts that it has loaded
 * to the file `LOADED_SCRIPTS`. V8 lists ESM and CommonJS, but not scripts that were collected; Node's
 * cache has CommonJS only.
 */
process.on('exit', () => {
  const scripts = Object.keys(createRequire(import.meta.url).cache);
  const session = new Session();
  session.connect();
  session.on('Debugger.scriptParsed', ({ params }) => scripts.push(params.url));
  session.post('Debugger.enable');
  writeFileSync(process.env.LOADED_SCRIPTS ?? '', scripts.join('\n'));
});
