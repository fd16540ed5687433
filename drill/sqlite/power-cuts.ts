import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WORK } from '../../bench/processes.js';
import { Ledger } from '../ledger.js';
import { Load } from '../load.js';
import { Scenario } from '../scenario.js';
import type { Kind } from './cuts.js';
import { writeSent } from './image.js';
import { memoryFolder, newRecording, STORE, type Recording } from './recording.js';
import { FILES } from './records.js';
import { replay, SENT, type Outcome, type Replay } from './replay.js';

/** Cuts with a disk that lies, for each of the files: the drill must notice. */
const LIES = 10;
/** Threads that cut. */
const THREADS = 2;

/** What came of the cuts, and what the same drill found with a disk whose syncs do nothing. */
export interface PowerCuts extends Outcome {
  readonly lies: readonly Outcome[];
}

/** How much is recorded, and how often the power is cut in it. */
export interface Extent {
  /** How often the service starts: in turns it ends in good order, and is killed. */
  readonly lives: number;
  /** Plants that each life is to store: a checkpoint comes with every 8,000. */
  readonly plants: number;
  /** Before how many operations the power is cut, in each way that makes a difference. */
  readonly points: number;
}

/** Records a service under load, and cuts the power again and again in what was recorded. */
export async function cutPower(extent: Extent, seed: number): Promise<PowerCuts> {
  const recording = await newRecording();
  const { folder } = recording;
  const ledger = await record(recording, extent);
  writeSent(ledger, join(folder, SENT));
  const cuts = await cut(folder, extent.points, seed);
  const lies = await Promise.all(
    FILES.map((lying) => replay({ ...newTask(folder, LIES, seed), lying })),
  );
  const wrong = [...ledger.wrong, ...cuts.wrong, ...doubts(cuts, lies, extent)];
  if (wrong.length > 0) wrong.push(`the recording is in ${keep(recording)}, the seed is ${seed}`);
  rmSync(folder, { recursive: true });
  return { ...cuts, wrong, lies };
}

/** Cuts the power again and again in a recording that was made. */
export async function cut(folder: string, points: number, seed: number): Promise<Outcome> {
  const left = join(folder, STORE);
  const shares = Array.from({ length: THREADS }, (_, i) => [i, THREADS] as const);
  const outcomes = await Promise.all(
    shares.map((share) => replay({ ...newTask(folder, points, seed), share, left })),
  );
  return sumOf(outcomes);
}

function newTask(folder: string, points: number, seed: number): Replay {
  return { folder, points, seed, image: join(memoryFolder(), STORE) };
}

async function record({ service }: Recording, { lives, plants }: Extent): Promise<Ledger> {
  const ledger = new Ledger(new Scenario('power cuts'));
  for (let life = 1; life <= lives; life++) {
    await service.start();
    const load = new Load(service.url, await service.token(), ledger, { pause: 0 });
    while (ledger.acknowledged.size < life * plants && service.lives) await sleep(20);
    await load.repeat();
    await load.stop();
    // The last one is killed: its log stays.
    await service.kill((lives - life) % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
  }
  return ledger;
}

/** Why the recording or the drill would show too little. */
function doubts(cuts: Outcome, lies: readonly Outcome[], { lives }: Extent): string[] {
  const few = [
    ...(cuts.checkpoints < lives ? ['too few checkpoints'] : []),
    // Each life of the service that finds no log begins one.
    ...(cuts.restarts < 2 * lives ? ['too few logs that began anew'] : []),
  ];
  const blind = lies.flatMap(({ lost }, i) =>
    lost === 0 ? [`no plant is missed with syncs of the ${FILES[i]} that do nothing`] : [],
  );
  return [...few, ...blind];
}

/** Copies a recording to where it outlives the drill. */
function keep({ folder }: Recording): string {
  const kept = join(WORK, `recording-${Date.now()}`);
  cpSync(folder, kept, { recursive: true });
  return kept;
}

/** @param outcomes of the same recording */
function sumOf([first, ...others]: readonly Outcome[]): Outcome {
  if (!first) throw new RangeError('no outcomes');
  return others.reduce((sum, other) => {
    const images = { ...sum.images };
    for (const [kind, n] of Object.entries(other.images) as [Kind, number][]) {
      images[kind] = (images[kind] ?? 0) + n;
    }
    return {
      ...sum,
      images,
      checked: sum.checked + other.checked,
      lost: sum.lost + other.lost,
      damaged: sum.damaged + other.damaged,
      wrong: [...sum.wrong, ...other.wrong],
    };
  }, first);
}
