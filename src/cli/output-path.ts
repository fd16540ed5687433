import { lstatSync, openSync, readlinkSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Linux follows at most this many links. */
const MAX_LINKS = 40;
const WORLD_WRITABLE_STICKY = 0o1002;

/**
 * Follows the links of a path that is to be written. In a folder such as /tmp it follows no link, and takes no file, of
 * another user: Linux refuses those only where fs.protected_symlinks, protected_regular and protected_fifos are set.
 * @returns a path that is no link, and whether another user may put something there meanwhile @throws Error
 */
export function findOutput(file: string): { readonly path: string; readonly isContested: boolean } {
  let path = file;
  for (let links = 0; links <= MAX_LINKS; links++) {
    const found = lstatSync(path, { throwIfNoEntry: false });
    const folder = statSync(dirname(path), { throwIfNoEntry: false });
    const isShared = ((folder?.mode ?? 0) & WORLD_WRITABLE_STICKY) === WORLD_WRITABLE_STICKY;
    const owners = [folder?.uid, process.geteuid?.()];
    if (!found) return { path, isContested: isShared };
    if (isShared && !owners.includes(found.uid))
      throw new Error(
        `another user made ${path}, in a folder that everyone can write to: remove it, or name another file`,
      );
    if (!found.isSymbolicLink()) return { path, isContested: false };
    path = resolve(dirname(path), readlinkSync(path));
  }
  throw new Error(`more than ${MAX_LINKS} links`);
}

/** Opens a file to write it anew. @returns its descriptor @throws Error, also as {@link findOutput} */
export function openOutput(file: string): number {
  const { path, isContested } = findOutput(file);
  // If nobody else can change what was found, the given path is opened: /dev/stdout leads to no path, but can be opened.
  return isContested ? openSync(path, 'wx') : openSync(file, 'w');
}
