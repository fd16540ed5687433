import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import type { StoredPlant } from '../../test/support/temporary-store.js';
import type { Ledger } from '../ledger.js';
import { plantOf } from '../plants.js';
import { cutsOf, Disk, pointsIn, SUFFIX } from './disk.js';
import { BEFORE, MEMORY, readOperations, type File } from './recording.js';

export interface Cuts {
  /** What the recording has. */
  readonly folder: string;
  /** What its clients were told. All plants have their first content. */
  readonly ledger: Ledger;
  /** Operations before which the power is cut, in each way that makes a difference. */
  readonly points: number;
  /** The time of the first cut: nanoseconds of CLOCK_MONOTONIC. */
  readonly after?: bigint;
  /** A file whose syncs do nothing. With nothing unsynced kept, the drill must notice. */
  readonly lying?: File;
  /** The database that the service left, which must equal the recording's. */
  readonly left?: string;
}

/** Replays a recording, and cuts the power at many points. */
export class Replay {
  readonly operations;
  /** Disks after a cut. */
  images = 0;
  /** The store of the images; at the end, the synced content after the whole recording. */
  readonly image = new SqliteStore(MEMORY);
  /** Acknowledged plants that were looked up, over all images. */
  checked = 0;
  lost = 0;
  readonly wrong: string[] = [];
  /** All sent plants, and the time of the first 200 of each, if any. */
  private readonly sent: ReadonlyMap<bigint, { plant: StoredPlant; at: bigint | undefined }>;

  constructor({ folder, ledger, points, after = 0n, lying, left }: Cuts) {
    const of = (id: bigint) => ({ plant: plantOf(id), at: ledger.acknowledged.get(id)?.at });
    this.sent = new Map(Array.from(ledger.history.ids, (id) => [id, of(id)]));
    this.operations = readOperations(folder);
    mkdirSync(dirname(this.image.path));
    const path = join(this.image.folder, 'disk');
    copyFileSync(join(folder, BEFORE), path);
    writeFileSync(path + SUFFIX.log, '');
    const disk = new Disk(path);
    const from = this.operations.findIndex(({ end }) => end > after);
    const at = pointsIn(this.operations, points, from);
    for (const [i, operation] of this.operations.entries()) {
      for (const [kind, changes] of at.has(i) ? cutsOf(disk.unsynced) : []) {
        if (lying && kind !== 'nothing unsynced kept') continue;
        disk.copyTo(this.image.path, changes);
        this.inspect(`cut before operation ${i}, ${kind}`, operation.end);
        this.images += 1;
      }
      const isLie = operation.kind === 'sync' && operation.file === lying;
      if (!isLie) disk.apply(operation);
    }
    if (left !== undefined) {
      disk.copyTo(this.image.path, disk.unsynced);
      this.compare(left);
    }
    disk.copyTo(this.image.path, []);
  }

  /** Opens the image, and looks up the plants acknowledged before a time. */
  private inspect(cut: string, time: bigint): void {
    const isDue = ({ at }: { at: bigint | undefined }) => at !== undefined && at < time;
    let lost = [...this.sent.values()].filter(isDue).length;
    this.checked += lost;
    const damage = faultIn(this.image.path, (database) => {
      const stored = database.prepare<[], StoredPlant>('SELECT id, name, tag FROM plants');
      let unknown: string | undefined;
      for (const { id, name, tag } of stored.iterate()) {
        const sent = this.sent.get(id);
        if (sent?.plant.name !== name || sent.plant.tag !== tag)
          unknown = `nobody sent plant ${id}`;
        else if (isDue(sent)) lost -= 1;
      }
      return unknown;
    });
    this.lost += lost;
    if (lost > 0 || damage !== undefined) this.wrong.push(`${cut}: ${lost} plants lost; ${damage}`);
  }

  /** Checks that the recording is complete: it must result in the files that the service left. */
  private compare(left: string): void {
    for (const suffix of Object.values(SUFFIX)) {
      const isSame = readFileSync(this.image.path + suffix).equals(readFileSync(left + suffix));
      if (!isSame) this.wrong.push(`the recording of *${suffix} misses something`);
    }
  }
}

/** The fault that SQLite's integrity check finds in a file, or else `inspect`; or the error of either. */
export function faultIn(
  path: string,
  inspect: (database: Database.Database) => string | undefined = () => undefined,
): string | undefined {
  // Read-only, so that closing it writes nothing back.
  const database = new Database(path, { readonly: true }).defaultSafeIntegers();
  try {
    const found = inspect(database);
    const result = database.pragma('integrity_check(1)', { simple: true });
    return result === 'ok' ? found : String(result);
  } catch (error) {
    return String(error);
  } finally {
    database.close();
  }
}
