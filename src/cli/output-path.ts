import { lstatSync, openSync, readlinkSync, statSync } from 'node:fs';
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
  return findOutput(file).path;
}

/** Opens a file to write it anew. @returns its descriptor @throws Error, also as {@link resolveOutput} */
export function openOutput(file: string): number {
  const { path, isContested } = findOutput(file);
  // Not by the path that was found if nobody else can change it: the links of descriptors lead to no path.
  return isContested ? openSync(path, 'wx') : openSync(file, 'w');
}

/** Finds where a path leads, and whether another user may put something there meanwhile. */
function findOutput(file: string): { readonly path: string; readonly isContested: boolean } {
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
