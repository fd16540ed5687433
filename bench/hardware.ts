import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, cpus, release, totalmem, type } from 'node:os';

/** The machine, its system, and what the stores in a folder lie on, as an item of a Markdown list. */
export function describeMachine(folder: string): string {
  return (
    `- ${cpus()[0]?.model.trim()}, ${cpus().length} cores (${arch()}), ` +
    `${Math.round(totalmem() / 2 ** 30)} GB of memory; stores on ${fileSystemOf(folder)}; ` +
    `${distribution()}, ${type()} ${release()}`
  );
}

/** The type of the file system that a folder lies on, such as `ext4`. */
export function fileSystemOf(folder: string): string {
  const printed = execFileSync('df', ['--output=fstype', folder], { encoding: 'utf8' });
  return printed.trim().split('\n').at(-1) ?? '';
}

function distribution(): string {
  const text = readFileSync('/etc/os-release', 'utf8');
  return /^PRETTY_NAME="(.*)"$/m.exec(text)?.[1] ?? 'Linux';
}
