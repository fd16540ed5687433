import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WORK } from '../../bench/processes.js';
import { Client } from '../client.js';
import { Ledger } from '../ledger.js';
import { Load } from '../load.js';
import { plantOf } from '../plants.js';
import { Scenario } from '../scenario.js';
import type { Service } from '../service.js';
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
  /** How often the service is killed under load a few times, and then lives for longer. */
  readonly cycles: number;
  /** Plants of each long life: a checkpoint comes with every 8,000. */
  readonly plants: number;
  /** Before how many operations the power is cut, in each way that makes a difference. */
  readonly points: number;
  /** Images that must come of it, at least. */
  readonly images: number;
}

/** Kills under load before each long life, and the plants that are stored before each. */
const KILLS = 3;
const PLANTS = 300;

/** Records a service under load, and cuts the power again and again in what was recorded. */
export async function cutPower(extent: Extent, seed: number): Promise<PowerCuts> {
  // A start that migrates opens and closes the store before, which would hide what others leave to do.
  const recording = await newRecording({ MIGRATE: 'off' });
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

async function record({ service }: Recording, { cycles, plants }: Extent): Promise<Ledger> {
  const ledger = new Ledger(new Scenario('power cuts'));
  for (let cycle = 1; cycle <= cycles; cycle++) {
    for (let i = 0; i < KILLS; i++) {
      const load = await live(service, ledger, PLANTS);
      await service.kill();
      await load.stop();
    }
    const load = await live(service, ledger, plants);
    await load.stop();
    // The last one leaves its log.
    await service.kill(cycle < cycles ? 'SIGTERM' : 'SIGKILL');
  }
  return ledger;
}

/** Starts the service, and resolves once it has stored so many plants; the load goes on. */
async function live(service: Service, ledger: Ledger, plants: number): Promise<Load> {
  await service.start();
  await resend(service, ledger);
  const enough = ledger.acknowledged.size + plants;
  const load = new Load(service.url, await service.token(), ledger, { pause: 0 });
  while (ledger.acknowledged.size < enough && service.lives) await sleep(20);
  return load;
}

/** Sends the plants once more that have no 200, and nothing else: no other plant brings a sync. */
async function resend(service: Service, ledger: Ledger): Promise<void> {
  const client = new Client(service.url, await service.token());
  for (const id of ledger.open.keys()) ledger.note(id, await client.send(plantOf(id)), 0);
  client.close();
}

/** Why the recording or the drill would show too little. */
function doubts(cuts: Outcome, lies: readonly Outcome[], { cycles, images }: Extent): string[] {
  const made = Object.values(cuts.images).reduce((sum, n) => sum + n, 0);
  const few = [
    ...(made < images ? [`${made} images, not ${images}`] : []),
    ...(cuts.checkpoints < cycles ? ['too few checkpoints'] : []),
    // Where there is no log, one begins too.
    ...(cuts.restarts < 2 * cycles ? ['too few logs that began anew'] : []),
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
