import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { demandSecrecy, Log, noteSecrets } from './secrecy.js';

/** As it was built; npm starts its scripts at the top of the project. */
const CLI = resolve('dist/src/cli.js');

/** How a command ended and what it wrote. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where a command runs: its folder, its variables beside PATH, its standard input. */
export interface Surroundings {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** Runs a command as it was built, in a process of its own: where the process matters, or several run at once. */
export async function runCli(
  args: readonly string[],
  { cwd, env = {}, input = '' }: Surroundings,
): Promise<Ran> {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
  });
  // A command that ends without reading its input breaks the pipe.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const texts = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await once(child, 'close')) as [number | null];
  const [stdout, stderr] = await texts;
  return keepSecrets({ code, stdout, stderr }, args, env);
}

/** Checks that no secret of a command is in what it wrote but where it is to be printed. */
export function keepSecrets(ran: Ran, args: readonly string[], env: Surroundings['env'] = {}): Ran {
  noteSecrets([...args, ...Object.values(env)].join('\n'));
  new Log().write(ran.stderr);
  demandSecrecy();
  return ran;
}
