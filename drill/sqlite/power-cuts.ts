import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WORK } from '../../bench/processes.js';
import { Ledger } from '../ledger.js';
import { Load } from '../load.js';
import { Scenario } from '../scenario.js';
import { pointsIn, type Kind } from './cuts.js';
import { writeSent } from './image.js';
import { randomFrom } from './random.js';
import { memoryFolder, newRecording, type Recording } from './recording.js';
import { endsCheckpoint, FILES, readRecords, restartsLog, type Operation } from './records.js';
import { replay, SENT, type Outcome, type Replay } from './replay.js';

/** Cuts with a disk that lies, for each of the files: the drill must notice. */
const LIES = 10;
/** Threads that cut. */
const THREADS = 2;

/** What came of the cuts, and what the same drill found with a disk whose syncs do nothing. */
export interface PowerCuts extends Outcome {
  readonly operations: number;
  readonly checkpoints: number;
  readonly lies: readonly Outcome[];
}

/**
 * Records a service under load, and cuts the power again and again in what was recorded.
 *
 * @param lives how often the service starts; in turns it ends in good order, and is killed
 * @param plants that each of these lives is to store: a checkpoint comes with every 8,000
 * @param points before how many operations the power is cut, in each way that makes a difference
 */
export async function cutPower(
  lives: number,
  plants: number,
  points: number,
  seed: number,
): Promise<PowerCuts> {
  const recording = await newRecording();
  const ledger = await record(recording, lives, plants);
  writeSent(ledger, join(recording.folder, SENT));
  const operations = readRecords(recording.folder);
  const checkpoints = operations.filter(endsCheckpoint).length;
  const cuts = await cut(recording, operations, points, seed);
  const lies = await lie(recording, operations, seed);
  const wrong = [
    ...ledger.wrong,
    ...cuts.flatMap((each) => each.wrong),
    ...doubts(operations, lives, lies),
  ];
  if (wrong.length > 0) wrong.push(`the recording is in ${keep(recording)}, the seed ${seed}`);
  rmSync(recording.folder, { recursive: true });
  return { ...sumOf(cuts), wrong, operations: operations.length, checkpoints, lies };
}

async function record({ service }: Recording, lives: number, plants: number): Promise<Ledger> {
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

async function cut(
  { folder, file }: Recording,
  operations: readonly Operation[],
  count: number,
  seed: number,
): Promise<Outcome[]> {
  const points = pointsIn(operations, count, randomFrom(seed));
  const tasks = Array.from({ length: THREADS }, (_, i): Replay => {
    const own = points.filter((__, j) => j % THREADS === i);
    return {
      folder,
      points: own,
      seed,
      image: join(memoryFolder(), 'store.sqlite'),
      ...(i === 0 && { left: file }),
    };
  });
  return Promise.all(tasks.map(replay));
}

/** The same with syncs that do nothing, first of the one file, then of the other. */
async function lie(
  { folder }: Recording,
  operations: readonly Operation[],
  seed: number,
): Promise<Outcome[]> {
  const points = pointsIn(operations, LIES, randomFrom(seed));
  return Promise.all(
    FILES.map((lying) =>
      replay({ folder, points, seed, image: join(memoryFolder(), 'store.sqlite'), lying }),
    ),
  );
}

/** Why the recording would show too little. */
function doubts(
  operations: readonly Operation[],
  lives: number,
  lies: readonly Outcome[],
): string[] {
  const count = (wanted: (operation: Operation) => boolean): number =>
    operations.filter(wanted).length;
  const few = [
    ...(count(endsCheckpoint) < lives ? ['too few checkpoints'] : []),
    // Each life of the service that finds no log makes one.
    ...(count(restartsLog) < 2 * lives ? ['too few logs that began anew'] : []),
  ];
  const blind = lies.flatMap(({ lost }, i) =>
    lost === 0 ? [`no plant is missed with syncs of the ${FILES[i]} that do nothing`] : [],
  );
  return [...few, ...blind];
}

function keep({ folder }: Recording): string {
  const kept = join(WORK, `recording-${Date.now()}`);
  cpSync(folder, kept, { recursive: true });
  return kept;
}

function sumOf(outcomes: readonly Outcome[]): Outcome {
  const images: Partial<Record<Kind, number>> = {};
  for (const outcome of outcomes) {
    for (const [kind, n] of Object.entries(outcome.images) as [Kind, number][]) {
      images[kind] = (images[kind] ?? 0) + n;
    }
  }
  const sum = (figure: (outcome: Outcome) => number): number =>
    outcomes.reduce((total, outcome) => total + figure(outcome), 0);
  return {
    images,
    checked: sum(({ checked }) => checked),
    lost: sum(({ lost }) => lost),
    damaged: sum(({ damaged }) => damaged),
    wrong: outcomes.flatMap(({ wrong }) => wrong),
  };
}
