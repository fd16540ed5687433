import { readConfig } from '../../src/config/environment.js';
import { Logger } from '../../src/database/engine.js';
import { isTransient } from '../../src/database/store-errors.js';
import { openStore } from '../../src/database/store.js';
import { toExitCode, toOperatorMessage } from '../../src/errors/operator-message.js';
import type { Ran } from './cli.js';
import { assertSecrecy, Log, recordSecrets } from './secrecy.js';

/**
 * Starts and stops the service in this process, as far as its store goes: locks, migrates, recovers and inspects it, and commits
 * once. A process of its own takes a second of CPU, most of it to load the application.
 *
 * @returns the exit code of such a start, and what it prints about the store
 * @throws Error if a service would try again, and never end
 */
export async function startHere(
  url: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  recordSecrets(url);
  const [stdout, stderr] = [new Log(), new Log()];
  const write = (line: unknown) => stdout.write(`${String(line)}\n`);
  Logger.overrideLogger({ log: write, warn: write, error: write, fatal: write });
  let code = 0;
  try {
    await using store = await openStore(readConfig({ ...env, DATABASE_URL: url }), [], 'serve');
    await store.writer.inspect();
    await store.writer.commitNothing();
  } catch (error) {
    if (isTransient(error))
      throw new Error('the service would wait for the store', { cause: error });
    code = toExitCode(error);
    stderr.write(`${toOperatorMessage(error).replace(/^/gm, 'error: ')}\n`);
  } finally {
    Logger.overrideLogger(false);
  }
  assertSecrecy();
  return { code, stdout: stdout.text, stderr: stderr.text };
}
