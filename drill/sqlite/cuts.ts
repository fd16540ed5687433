import type { Change } from './disk.js';
import type { Random } from '../random.js';
import { FILES, restartsLog, type File, type Operation } from './recording.js';

/** What a disk is sure to write as a whole, in bytes. */
const SECTOR = 512;
/** Operations after the log began again that are looked at closely. */
const AFTER_RESTART = 12;

/** Which of the unsynced changes, the oldest first, had reached the disk when the power was cut. */
type Choice = (unsynced: readonly Change[], random: Random) => readonly Change[];

export const KINDS = {
  'nothing unsynced kept': () => [],
  'all of it kept': (unsynced) => unsynced,
  'some of it kept': (unsynced, random) => unsynced.filter(() => random.once(2)),
  reordered: (unsynced, random) => {
    const later = 1 + random.below(unsynced.length - 1);
    const missing = random.below(later);
    return unsynced.filter((_, i) => i >= later || (i !== missing && random.once(2)));
  },
  'torn at 512 bytes': (unsynced, random) =>
    unsynced.flatMap(sectorsOf).filter(() => random.once(2)),
  'the database first': (unsynced) => unsynced.filter(({ file }) => file === 'database'),
  'the log first': (unsynced) => unsynced.filter(({ file }) => file === 'log'),
} satisfies Record<string, Choice>;

export type Kind = keyof typeof KINDS;

/** The kinds of cut that differ for these changes. */
export function kindsFor(unsynced: readonly Change[]): Kind[] {
  const few: Kind[] = ['nothing unsynced kept'];
  if (unsynced.length > 0) few.push('all of it kept', 'some of it kept', 'torn at 512 bytes');
  if (unsynced.length > 1) few.push('reordered');
  const isBoth = new Set(unsynced.map(({ file }) => file)).size === 2;
  return isBoth ? [...few, 'the database first', 'the log first'] : few;
}

/** The changes that a cut of a kind leaves. */
export function choose(kind: Kind, unsynced: readonly Change[], random: Random): Change[] {
  const choice: Choice = KINDS[kind];
  const kept = choice(unsynced, random);
  // A file that is made in place of another has no name as long as the other one has it.
  const unlink = unsynced.find((change) => change.isUnlink && !kept.includes(change));
  return kept.filter(({ file, end }) => !(unlink?.file === file && end > unlink.end));
}

function sectorsOf(change: Change): Change[] {
  const { offset, data } = change;
  if (!data) return [change];
  const sectors: Change[] = [];
  for (let from = 0; from < data.length;) {
    const to = from + SECTOR - ((offset + from) % SECTOR);
    sectors.push({ ...change, offset: offset + from, data: data.subarray(from, to) });
    from = to;
  }
  return sectors;
}

/**
 * The numbers of operations before which the power is cut: as many each at syncs, where neither file
 * is synced, in checkpoints, where the service starts and the log begins again or is unlinked, and
 * anywhere.
 *
 * @param from the first operation that may be one of them
 */
export function pointsIn(
  operations: readonly Operation[],
  count: number,
  random: Random,
  from: number,
): number[] {
  const all = operations.map((_, i) => i).slice(from);
  const near = (wanted: (operation: Operation) => boolean, after = 0): number[] =>
    all.filter((i) => operations.slice(Math.max(0, i - after), i + 1).some(wanted));
  const places = [
    near(({ kind }) => kind === 'sync', 1),
    whereNeitherIsSynced(operations).filter((i) => i >= from),
    near(({ file }) => file === 'database'),
    near((each) => each.isFirst || each.kind === 'unlink' || restartsLog(each), AFTER_RESTART),
    all,
  ];
  const points = places.flatMap((place) => random.sample(place, Math.ceil(count / places.length)));
  return [...new Set(points)].sort((a, b) => a - b);
}

function whereNeitherIsSynced(operations: readonly Operation[]): number[] {
  const dirty = new Set<File>();
  return operations.flatMap(({ kind, file }, i) => {
    const isNeither = dirty.size === FILES.length;
    if (kind === 'sync') dirty.delete(file);
    else dirty.add(file);
    return isNeither ? [i] : [];
  });
}
