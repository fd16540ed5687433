import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Ledger } from '../ledger.js';
import { plantOf } from '../load.js';
import { Random } from '../random.js';
import { choose, kindsFor, pointsIn, type Kind } from './cuts.js';
import { DiskFile, type Change } from './disk.js';
import { BEFORE, FILES, readOperations, restartsLog, type File } from './recording.js';

const SENT = 'sent.sqlite';
const SUFFIX = { database: '', log: '-wal' } as const;
/** In the order of the plants, each of which is looked up among those that were sent. */
const RIGHT = `
  SELECT count(*), coalesce(sum(at < ?), 0) FROM plants CROSS JOIN sent USING (id)
  WHERE plants.name = sent.name AND plants.tag IS sent.tag`;

/** Where and how the power is cut. */
export interface Cuts {
  /** The folder of the recording, with what {@link writeSent} has written. */
  readonly folder: string;
  readonly seed: number;
  /** Before how many operations the power is cut, in each way that makes a difference. */
  readonly points: number;
  /** The time before which nothing is cut; nanoseconds of CLOCK_MONOTONIC. */
  readonly after?: bigint;
  /** Where the images are made; in the end, what is on the disk when all is over. */
  readonly image: string;
  /** A file whose syncs do nothing, and nothing else is kept: the drill must notice. */
  readonly lying?: File;
  /** The database that the service left, where it must be what the recording comes to. */
  readonly left?: string;
}

/** Writes down what clients have sent, and when they had their 200, into a recording's folder. */
export function writeSent({ acknowledged, open }: Ledger, folder: string): void {
  rmSync(join(folder, SENT), { force: true });
  const database = new Database(join(folder, SENT));
  database.exec('CREATE TABLE sent (id INTEGER PRIMARY KEY, name, tag, at INTEGER) WITHOUT ROWID');
  const insert = database.prepare('INSERT INTO sent VALUES (?, ?, ?, ?)');
  database.transaction(() => {
    for (const id of new Set([...acknowledged.keys(), ...open.keys()])) {
      const { name, tag } = plantOf(id);
      insert.run(id, name, tag, acknowledged.get(id)?.at ?? null);
    }
  })();
  database.close();
}

/** Follows a recording, and cuts the power on its way. */
export class Replay {
  /** What was recorded. */
  readonly operations;
  readonly checkpoints: number;
  readonly restarts: number;
  readonly images: Partial<Record<Kind, number>> = {};
  /** Acknowledged plants that were looked for, over all images. */
  checked = 0;
  lost = 0;
  damaged = 0;
  readonly wrong: string[] = [];
  private readonly files: Record<File, DiskFile>;

  constructor(private readonly cuts: Cuts) {
    const { folder, seed, points, after = 0n, image, lying, left } = cuts;
    this.operations = readOperations(folder);
    const syncs = this.operations.filter(
      ({ kind, outcome }) => kind === 'sync' && outcome === 'done',
    );
    this.checkpoints = syncs.filter(({ file }) => file === 'database').length;
    this.restarts = this.operations.filter(restartsLog).length;
    copyFileSync(join(folder, BEFORE), image);
    writeFileSync(`${image}-wal`, '');
    this.files = { database: new DiskFile(image), log: new DiskFile(`${image}-wal`) };
    const from = this.operations.findIndex(({ end }) => end > after);
    const at = new Set(pointsIn(this.operations, points, new Random(seed), from));
    for (const [i, operation] of this.operations.entries()) {
      if (at.has(i)) this.cutBefore(i, operation.end);
      const isLie = operation.kind === 'sync' && operation.file === lying;
      if (!isLie) this.files[operation.file].apply(operation);
    }
    if (left !== undefined) this.compare(left);
    for (const file of FILES) this.files[file].close();
  }

  get total(): number {
    return Object.values(this.images).reduce((sum, n) => sum + n, 0);
  }

  /** Every kind of cut; what was acknowledged when the operation ended had been acknowledged before. */
  private cutBefore(i: number, at: bigint): void {
    const unsynced = this.unsynced();
    const kinds = this.cuts.lying ? (['nothing unsynced kept'] as const) : kindsFor(unsynced);
    for (const [j, kind] of kinds.entries()) {
      this.apply(choose(kind, unsynced, new Random(this.cuts.seed, 8 * i + j)));
      this.inspect(`cut before operation ${i}, ${kind}`, at);
      this.images[kind] = (this.images[kind] ?? 0) + 1;
      for (const file of FILES) this.files[file].restore();
    }
  }

  /**
   * Opens a database as a power cut left it, and looks for the plants that were acknowledged before.
   * It only reads: the file and its log stay as they are.
   */
  private inspect(cut: string, at: bigint): void {
    const database = new Database(this.cuts.image, { readonly: true });
    database.prepare('ATTACH ? AS ledger').run(join(this.cuts.folder, SENT));
    // It is read again for each image: not by a system call for each page.
    database.pragma('ledger.mmap_size = 1000000000');
    const count = (sql: string, ...values: unknown[]) =>
      database
        .prepare(sql)
        .raw()
        .get(...values) as [number, number];
    const [acknowledged] = count('SELECT count(*) FROM sent WHERE at < ?', at);
    this.checked += acknowledged;
    let [lost, damage] = [acknowledged, [] as string[]];
    try {
      damage = faultsIn(database);
      const [[stored], [right, found]] = [count('SELECT count(*) FROM plants'), count(RIGHT, at)];
      lost = acknowledged - found;
      if (right < stored) damage.push(`${stored - right} plants that nobody sent`);
    } catch (error) {
      damage.push(String(error));
    }
    database.close();
    this.lost += lost;
    if (damage.length > 0) this.damaged += 1;
    if (lost > 0 || damage.length > 0) {
      this.wrong.push(`${cut}: ${lost} plants lost; ${damage.join('; ')}`);
    }
  }

  /** The recording must come to what the service left, or it has missed something. */
  private compare(left: string): void {
    this.apply(this.unsynced());
    for (const file of FILES) {
      const [own, other] = [this.cuts.image, left].map((path) => readFileSync(path + SUFFIX[file]));
      if (own && other && !own.equals(other))
        this.wrong.push(`the recording of the ${file} is not what the service has written`);
      this.files[file].restore();
    }
  }

  /** Makes the files what they are after a cut until which these changes had reached the disk. */
  private apply(changes: readonly Change[]): void {
    for (const name of FILES) this.files[name].cut(changes.filter(({ file }) => file === name));
  }

  private unsynced(): Change[] {
    const changes = FILES.flatMap((file) => this.files[file].unsynced);
    return changes.sort((a, b) => Number(a.end - b.end));
  }
}

/** What SQLite finds wrong with a database. */
export function faultsIn(database: Database.Database): string[] {
  const rows = database.pragma('integrity_check(3)') as { integrity_check: string }[];
  return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
}
