import { Readable } from 'node:stream';
import { jest } from '@jest/globals';
import { run } from '../../src/cli/program.js';
import { keepSecrets, type Ran, type Surroundings } from './cli.js';

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
