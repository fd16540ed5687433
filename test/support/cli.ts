import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
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

/** What a command shows of its progress where it takes longer than 5 seconds. */
const PROGRESS = /^(\[[= ]{24}\] .*|\w+( \w+:)? \d+, \d+\/s)\n/gm;

/**
 * Runs a command in this process, in a fraction of the time that starting one takes. One at a time: what
 * a process has only once, such as its folder and its output, is the command's meanwhile.
 */
export async function runHere(
  args: readonly string[],
  { cwd, env = {}, input = '' }: Surroundings,
): Promise<Ran> {
  // Not at the top: the drills, which run commands as well, are not run by Jest.
  const { jest } = await import('@jest/globals');
  const { run } = await import('../../src/cli/program.js');
  const own = { cwd: process.cwd(), env: process.env };
  const written = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((text) => {
      written[name] += String(text);
      return true;
    }),
  );
  const stdin = jest.spyOn(process, 'stdin', 'get');
  stdin.mockReturnValue(Readable.from([input]) as typeof process.stdin);
  process.chdir(cwd);
  process.env = { PATH: own.env.PATH, ...env };
  try {
    await run(args);
    const { stdout } = written;
    const stderr = written.stderr.replaceAll(PROGRESS, '');
    return keepSecrets({ code: Number(process.exitCode ?? 0), stdout, stderr }, args, env);
  } finally {
    process.exitCode = undefined;
    process.env = own.env;
    process.chdir(own.cwd);
    for (const spy of [stdin, ...spies]) spy.mockRestore();
  }
}
