import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { choose, kindsFor, pointsIn, type Kind } from './cuts.js';
import { DiskFile, type Change } from './disk.js';
import { inspect, type Findings } from './image.js';
import { randomFrom } from '../random.js';
import {
  endsCheckpoint,
  FILES,
  readRecords,
  restartsLog,
  type File,
  type Operation,
} from './records.js';

/** What is in the folder of a recording, beside the records. */
export const BEFORE = 'before.sqlite';
export const SENT = 'sent.sqlite';

const SUFFIX = { database: '', log: '-wal' } as const;

export interface Replay {
  /** The recording. */
  readonly folder: string;
  readonly seed: number;
  /** Before how many operations the power is cut, in each way that makes a difference. */
  readonly points: number;
  /** Which of them are this replay's, of how many replays. */
  readonly share?: readonly [index: number, shares: number];
  /** The time before which nothing is cut; nanoseconds of CLOCK_MONOTONIC. */
  readonly after?: bigint;
  /** Where the images are made; in the end, what is on the disk when all is over. */
  readonly image: string;
  /** A file whose syncs do nothing, and nothing else is kept: the drill must notice. */
  readonly lying?: File;
  /** The database that the service left, where it must be what the recording comes to. */
  readonly left?: string;
}

/** What came of the cuts. */
export interface Outcome {
  /** What was recorded. */
  readonly operations: number;
  readonly checkpoints: number;
  readonly restarts: number;
  readonly images: Partial<Record<Kind, number>>;
  /** Acknowledged plants that were looked for, over all images. */
  checked: number;
  lost: number;
  damaged: number;
  readonly wrong: string[];
}

/** Cuts the power again and again, on a thread of its own. */
export async function replay(task: Replay): Promise<Outcome> {
  const worker = new Worker(new URL(import.meta.url), { workerData: task });
  const [outcome] = (await once(worker, 'message')) as [Outcome];
  return outcome;
}

/** Follows a recording, and cuts the power on its way. */
class Player {
  private readonly files: Record<File, DiskFile>;
  private readonly operations: readonly Operation[];
  private readonly outcome: Outcome;

  constructor(private readonly task: Replay) {
    this.operations = readRecords(task.folder);
    this.outcome = {
      operations: this.operations.length,
      checkpoints: this.operations.filter(endsCheckpoint).length,
      restarts: this.operations.filter(restartsLog).length,
      images: {},
      checked: 0,
      lost: 0,
      damaged: 0,
      wrong: [],
    };
    copyFileSync(join(task.folder, BEFORE), task.image);
    writeFileSync(`${task.image}-wal`, '');
    this.files = { database: new DiskFile(task.image), log: new DiskFile(`${task.image}-wal`) };
  }

  play(): Outcome {
    const points = this.points();
    for (const [i, operation] of this.operations.entries()) {
      if (points.has(i)) this.cutBefore(i, operation.end);
      if (operation.kind === 'sync' && operation.file === this.task.lying) continue;
      this.files[operation.file].apply(operation);
    }
    if (this.task.left !== undefined) this.compare(this.task.left);
    for (const file of FILES) this.files[file].close();
    return this.outcome;
  }

  private points(): Set<number> {
    const { points, seed, after = 0n, share: [index, shares] = [0, 1] } = this.task;
    const from = this.operations.findIndex(({ end }) => end > after);
    const all = pointsIn(this.operations, points, randomFrom(seed), from);
    return new Set(all.filter((_, i) => i % shares === index));
  }

  /** Every kind of cut; what was acknowledged when the operation ended had been acknowledged before. */
  private cutBefore(i: number, at: bigint): void {
    const unsynced = this.unsynced();
    const kinds = this.task.lying ? (['nothing unsynced kept'] as const) : kindsFor(unsynced);
    for (const [j, kind] of kinds.entries()) {
      const kept = choose(kind, unsynced, randomFrom(this.task.seed + 8 * i + j));
      for (const file of FILES) this.files[file].cut(kept.filter((each) => each.file === file));
      this.judge(kind, i, inspect(this.task.image, join(this.task.folder, SENT), at));
      for (const file of FILES) this.files[file].restore();
    }
  }

  private judge(kind: Kind, i: number, { acknowledged, lost, damage }: Findings): void {
    const { outcome } = this;
    outcome.images[kind] = (outcome.images[kind] ?? 0) + 1;
    outcome.checked += acknowledged;
    outcome.lost += lost;
    if (damage !== undefined) outcome.damaged += 1;
    if (lost === 0 && damage === undefined) return;
    outcome.wrong.push(`cut before operation ${i}, ${kind}: ${lost} plants lost; ${damage ?? ''}`);
  }

  /** The recording must come to what the service left, or it has missed something. */
  private compare(left: string): void {
    const unsynced = this.unsynced();
    for (const file of FILES) {
      this.files[file].cut(unsynced.filter((each) => each.file === file));
      const [own, other] = [this.task.image, left].map((path) => readFileSync(path + SUFFIX[file]));
      if (!own?.equals(other ?? Buffer.alloc(0)))
        this.outcome.wrong.push(`the recording of the ${file} is not what the service has written`);
      this.files[file].restore();
    }
  }

  private unsynced(): Change[] {
    const changes = FILES.flatMap((file) => this.files[file].unsynced);
    return changes.sort((a, b) => Number(a.end - b.end));
  }
}

if (!isMainThread) parentPort?.postMessage(new Player(workerData as Replay).play());
