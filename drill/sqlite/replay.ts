import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import type { StoredPlant } from '../../test/support/temporary-store.js';
import { plantOf, type Ledger } from '../ledger.js';
import { Random } from '../random.js';
import { choose, DiskFile, kindsFor, pointsIn, type Change, type Kind } from './disk.js';
import { BEFORE, FILES, MEMORY, readOperations, type File } from './recording.js';

const SUFFIX = { database: '', log: '-wal' } as const;

/** The time of the first 200 of each sent plant, if any: nanoseconds of CLOCK_MONOTONIC. */
export type Sent = ReadonlyMap<bigint, bigint | undefined>;

export interface Cuts {
  /** Of the recording. */
  readonly folder: string;
  readonly sent: Sent;
  readonly seed: number;
  /** Operations before which the power is cut, in each way that makes a difference. */
  readonly points: number;
  /** The time of the first cut: nanoseconds of CLOCK_MONOTONIC. */
  readonly after?: bigint;
  /** A file whose syncs do nothing. With nothing unsynced kept, the drill must notice. */
  readonly lying?: File;
  /** The database that the service left, which must equal the recording's. */
  readonly left?: string;
}

/** The plants that the clients of a ledger have sent. */
export function sentOf({ acknowledged, open }: Ledger): Sent {
  const sent = new Map<bigint, bigint | undefined>([...open].map((id) => [id, undefined]));
  for (const [id, { at }] of acknowledged) sent.set(id, at);
  return sent;
}

/** Replays a recording, and cuts the power at many points. */
export class Replay {
  readonly operations;
  readonly images: Partial<Record<Kind, number>> = {};
  /** The store of the images; at the end, the synced content after the whole recording. */
  readonly image = new SqliteStore(MEMORY);
  /** Acknowledged plants that were looked up, over all images. */
  checked = 0;
  lost = 0;
  damaged = 0;
  readonly wrong: string[] = [];
  private readonly files: Record<File, DiskFile>;
  private readonly plants: ReadonlyMap<bigint, StoredPlant>;

  constructor(private readonly cuts: Cuts) {
    const { folder, sent, seed, points, after = 0n, lying, left } = cuts;
    this.plants = new Map([...sent.keys()].map((id) => [id, plantOf(id)]));
    this.operations = readOperations(folder);
    mkdirSync(dirname(this.image.path));
    const disk = join(this.image.folder, 'disk');
    copyFileSync(join(folder, BEFORE), disk);
    writeFileSync(`${disk}-wal`, '');
    this.files = { database: new DiskFile(disk), log: new DiskFile(`${disk}-wal`) };
    const from = this.operations.findIndex(({ end }) => end > after);
    const at = new Set(pointsIn(this.operations, points, new Random(seed), from));
    for (const [i, operation] of this.operations.entries()) {
      if (at.has(i)) this.cutBefore(i, operation.end);
      const isLie = operation.kind === 'sync' && operation.file === lying;
      if (!isLie) this.files[operation.file].apply(operation);
    }
    if (left !== undefined) this.compare(left);
    this.cut([]);
    for (const file of FILES) this.files[file].close();
  }

  get total(): number {
    return Object.values(this.images).reduce((sum, n) => sum + n, 0);
  }

  /** Makes every kind of cut before an operation that ended at a time. */
  private cutBefore(i: number, at: bigint): void {
    const unsynced = this.unsynced();
    const kinds = this.cuts.lying ? (['nothing unsynced kept'] as const) : kindsFor(unsynced);
    for (const [j, kind] of kinds.entries()) {
      this.cut(choose(kind, unsynced, new Random(this.cuts.seed, 8 * i + j)));
      this.inspect(`cut before operation ${i}, ${kind}`, at);
      this.images[kind] = (this.images[kind] ?? 0) + 1;
    }
  }

  /** Opens the image, and looks up the plants acknowledged before a time. */
  private inspect(cut: string, at: bigint): void {
    const { sent } = this.cuts;
    const isDue = (time: bigint | undefined) => time !== undefined && time < at;
    let lost = [...sent.values()].filter(isDue).length;
    this.checked += lost;
    const damage: string[] = [];
    // Read-only, so that closing it writes nothing back.
    const database = new Database(this.image.path, { readonly: true }).defaultSafeIntegers();
    try {
      damage.push(...faultsIn(database));
      const stored = database.prepare<[], StoredPlant>('SELECT id, name, tag FROM plants');
      for (const { id, name, tag } of stored.iterate()) {
        const plant = this.plants.get(id);
        if (plant?.name !== name || plant.tag !== tag) damage.push(`nobody sent plant ${id}`);
        else if (isDue(sent.get(id))) lost -= 1;
      }
    } catch (error) {
      damage.push(String(error));
    }
    database.close();
    this.lost += lost;
    if (damage.length > 0) this.damaged += 1;
    if (lost > 0 || damage.length > 0) {
      this.wrong.push(`${cut}: ${lost} plants lost; ${damage.slice(0, 3).join('; ')}`);
    }
  }

  /** Checks that the recording is complete: it must result in the files that the service left. */
  private compare(left: string): void {
    this.cut(this.unsynced());
    for (const file of FILES) {
      const paths = [this.image.path, left].map((path) => path + SUFFIX[file]);
      const [own, other] = paths.map((path) => readFileSync(path)) as [Buffer, Buffer];
      if (!own.equals(other)) this.wrong.push(`the recording of the ${file} misses something`);
    }
  }

  /** Makes the image of a cut with these changes on the disk. */
  private cut(changes: readonly Change[]): void {
    for (const name of FILES) {
      const own = changes.filter(({ file }) => file === name);
      this.files[name].copyTo(this.image.path + SUFFIX[name], own);
    }
  }

  private unsynced(): Change[] {
    const changes = FILES.flatMap((file) => this.files[file].unsynced);
    return changes.sort((a, b) => Number(a.end - b.end));
  }
}

/** The findings of SQLite's integrity check. */
export function faultsIn(database: Database.Database): string[] {
  const rows = database.pragma('integrity_check(3)') as { integrity_check: string }[];
  return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
}
