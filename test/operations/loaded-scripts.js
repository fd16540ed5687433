import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { createRequire } from 'node:module';
import process from 'node:process';

/**
 * For Node's `--import`: writes the address of every script that the process has loaded into the file
 * `LOADED_SCRIPTS` when it ends. V8 knows ESM and CommonJS alike, but forgets scripts that nothing
 * refers to any more; Node remembers CommonJS alone.
 */
process.on('exit', () => {
  const scripts = Object.keys(createRequire(import.meta.url).cache);
  const session = new Session();
  session.connect();
  session.on('Debugger.scriptParsed', ({ params }) => scripts.push(params.url));
  session.post('Debugger.enable');
  writeFileSync(process.env.LOADED_SCRIPTS ?? '', scripts.join('\n'));
});
