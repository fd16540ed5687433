import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { assertSecrecy, Log, recordSecrets } from './secrecy.js';

/** The built program; npm runs its scripts at the top of the project. */
const CLI = resolve('dist/src/cli.js');

/** Exit code and output of a command. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command's working folder, its variables besides PATH, and its standard input. */
interface Surroundings {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** The variables with which a process fails when it loads a module that matches. */
export function forbidModules(modules: string) {
  const script = `import { registerHooks } from 'node:module';
    registerHooks({ load(url, context, next) {
      if (new RegExp(${JSON.stringify(modules)}).test(url)) throw new Error('loads ' + url);
      return next(url, context);
    } });`;
  return preload(script);
}

/** The variables with which a service prints a line for each POST request that arrives. */
export const PRINT_ARRIVALS = preload(`import { subscribe } from 'node:diagnostics_channel';
  subscribe('http.server.request.start', ({ request }) => {
    if (request.method === 'POST') process.stderr.write('arrived\\n');
  });`);

function preload(script: string) {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
}

/** Starts the built command in its own process. */
export function spawnCli(args: readonly string[], { cwd, env = {} }: Surroundings) {
  return spawn(process.execPath, [CLI, ...args], { cwd, env: { PATH: process.env.PATH, ...env } });
}

/** Runs the built command in its own process: when the process matters, or several run at once. */
export async function runCli(
  args: readonly string[],
  { cwd, env = {}, input = '' }: Surroundings,
): Promise<Ran> {
  const child = spawnCli(args, { cwd, env });
  // A command that exits without reading its input breaks the pipe.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  return keepSecrets(await untilEnd(child), args, env);
}

/** Waits for the end of a process. */
export async function untilEnd(child: ChildProcessWithoutNullStreams): Promise<Ran> {
  const texts = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await once(child, 'close')) as [number | null];
  const [stdout, stderr] = await texts;
  return { code, stdout, stderr };
}

/** Checks that a command printed no secret on stderr. */
function keepSecrets(ran: Ran, args: readonly string[], env: Surroundings['env'] = {}): Ran {
  recordSecrets([...args, ...Object.values(env)].join('\n'));
  new Log().write(ran.stderr);
  assertSecrecy();
  return ran;
}

/**
 * Runs a command in this process, much faster than in its own. One at a time: the command takes over
 * the working folder, the environment and the output of the process.
 */
export async function runHere(
  args: readonly string[],
  { cwd, env = {}, input = '' }: Surroundings,
): Promise<Ran> {
  // Imported here, as the drills also use this file, and without Jest.
  const { jest } = await import('@jest/globals');
  const { run } = await import('../../src/cli/program.js');
  const own = { cwd: process.cwd(), env: process.env };
  const written = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) => {
    const write = (text: unknown, done?: () => void): boolean => {
      written[name] += String(text);
      done?.();
      return true;
    };
    // A socket, as of a pipe: on a file, commands write past the stream.
    const stream = Object.assign(new Socket(), { write }) as unknown as typeof process.stdout;
    return jest.spyOn(process, name, 'get').mockReturnValue(stream);
  });
  const stdin = jest.spyOn(process, 'stdin', 'get');
  stdin.mockReturnValue(Readable.from([Buffer.from(input)]) as typeof process.stdin);
  process.chdir(cwd);
  process.env = { PATH: own.env.PATH, ...env };
  try {
    await run(args, () => import('../../src/main.js'));
    return keepSecrets({ code: Number(process.exitCode ?? 0), ...written }, args, env);
  } finally {
    process.exitCode = undefined;
    process.env = own.env;
    process.chdir(own.cwd);
    for (const spy of [stdin, ...spies]) spy.mockRestore();
  }
}

/** The files in a folder that this process has open; none where the system has no /proc. */
export const listOpen = (folder: string): string[] =>
  globSync('/proc/self/fd/*')
    .flatMap((link) => {
      try {
        return readlinkSync(link);
      } catch {
        // The listing has opened one itself.
        return [];
      }
    })
    .filter((path) => path.startsWith(folder));
