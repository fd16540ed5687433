import { lstatSync, readlinkSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** As many links as Linux follows. */
const MAX_LINKS = 40;
const WORLD_WRITABLE_STICKY = 0o1002;

/**
 * Follows the links of a path that is to be written. In a folder such as /tmp it follows no link, and takes no file, of
 * another user: Linux refuses those only where fs.protected_symlinks, protected_regular and protected_fifos are set.
 * @returns a path that is no link @throws Error
 */
export function resolveOutput(file: string): string {
  let path = file;
  for (let links = 0; links <= MAX_LINKS; links++) {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (!found) return path;
    const folder = statSync(dirname(path));
    const isShared = (folder.mode & WORLD_WRITABLE_STICKY) === WORLD_WRITABLE_STICKY;
    if (isShared && ![folder.uid, process.geteuid?.()].includes(found.uid))
      throw new Error(
        `another user made ${path}, in a folder that everyone can write to: remove it, or name another file`,
      );
    if (!found.isSymbolicLink()) return path;
    path = resolve(dirname(path), readlinkSync(path));
  }
  throw new Error(`more than ${MAX_LINKS} links`);
}
