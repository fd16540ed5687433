import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { deserialize, serialize } from 'node:v8';
import { number, table } from '../../bench/markdown.js';
import { Ledger, Scenario } from '../ledger.js';
import { Load, send } from '../load.js';
import type { Service } from '../stage.js';
import { createRecorded, FILES, restartsLog } from './recording.js';
import { Replay, sentOf, type Sent } from './replay.js';

/** Cuts with syncs of a file that do nothing, for each file: the drill must notice. */
const LIES = 10;
/** Kills under load before each long run, and the plants stored before each kill. */
const [KILLS, PLANTS] = [3, 300];
/** The file of the sent plants in a kept recording. */
const SENT = 'sent.v8';

export interface Extent {
  /** Repetitions of a few kills under load and a long run. */
  readonly cycles: number;
  /** Plants of each long run. A checkpoint comes every 8,000. */
  readonly plants: number;
  /** Operations before which the power is cut, in each way that makes a difference. */
  readonly points: number;
  /** The minimum of images. */
  readonly images: number;
}

/** Records a service under load, and cuts the power at many points of the recording. */
export async function cutPower(extent: Extent, seed: number) {
  // A start that migrates opens and closes the store first, which would hide a missing recovery.
  const { store, service } = await createRecorded({ MIGRATE: 'off' });
  const { folder } = store;
  const ledger = await record(service, extent);
  const sent = sentOf(ledger);
  const cuts = new Replay({ folder, sent, seed, points: extent.points, left: store.path });
  const lies = FILES.map((lying) => new Replay({ folder, sent, seed, points: LIES, lying }));
  const wrong = [...ledger.wrong, ...cuts.wrong, ...doubts(cuts, lies, extent)];
  if (wrong.length > 0) wrong.push(`the recording is kept in ${keep(folder, sent)}`);
  await store.remove();
  return { report: reportOn(cuts, lies), wrong };
}

function keep(folder: string, sent: Sent): string {
  const kept = resolve('drill/.work', `recording-${Date.now()}`);
  cpSync(folder, kept, { recursive: true });
  writeFileSync(join(kept, SENT), serialize(sent));
  return kept;
}

/** Cuts the power in a kept recording. */
export function cutAgain(folder: string, points: number, seed: number): Replay {
  const sent = deserialize(readFileSync(join(folder, SENT))) as Sent;
  return new Replay({ folder, sent, seed, points, left: join(folder, 'data/store.sqlite') });
}

/** Runs the service under load, and kills or stops it repeatedly. */
async function record(service: Service, { cycles, plants }: Extent): Promise<Ledger> {
  const ledger = new Ledger(new Scenario('power cuts'));
  for (let cycle = 1; cycle <= cycles; cycle++) {
    for (let i = 0; i < KILLS; i++) {
      const load = await live(service, ledger, PLANTS);
      await service.end();
      await load.stop();
    }
    const load = await live(service, ledger, plants);
    await load.stop();
    // The last run leaves its log.
    await service.end(cycle < cycles ? 'SIGTERM' : 'SIGKILL');
  }
  return ledger;
}

/** Starts the service. Resolves once it has stored `plants` new ones; the load continues. */
async function live(service: Service, ledger: Ledger, plants: number): Promise<Load> {
  await service.start();
  const client = service.client();
  // First only the plants without a 200, so that no other plant causes a sync.
  for (const id of ledger.open) ledger.record(id, await send(client, id));
  const enough = ledger.acknowledged.size + plants;
  const load = new Load(client, ledger, { pause: 0 });
  while (ledger.acknowledged.size < enough && !service.exit) await sleep(20);
  return load;
}

/** Reasons why the recording or the drill shows too little. */
function doubts(cuts: Replay, lies: readonly Replay[], { cycles, images }: Extent): string[] {
  const blind = lies.flatMap(({ lost }, i) =>
    lost === 0 ? [`no plant is missed with syncs of the ${FILES[i]} that do nothing`] : [],
  );
  const restarts = cuts.operations.filter(restartsLog).length;
  return [
    ...(cuts.total < images ? [`${cuts.total} images, not ${images}`] : []),
    ...(checkpointsOf(cuts) < cycles ? ['too few checkpoints'] : []),
    // A missing log restarts too.
    ...(restarts < 2 * cycles ? ['too few logs that began again'] : []),
    ...blind,
  ];
}

function checkpointsOf({ operations }: Replay): number {
  const isOne = ({ kind, file, outcome }: (typeof operations)[number]) =>
    kind === 'sync' && file === 'database' && outcome === 'done';
  return operations.filter(isOne).length;
}

/** Reports the images by kind of cut, and the findings. */
function reportOn(cuts: Replay, lies: readonly Replay[]): string[] {
  const rows = Object.entries(cuts.images).map(([kind, images]) => ({
    'power cuts': kind,
    images,
  }));
  const seen = lies.map(
    ({ lost, checked }, i) => `of the ${FILES[i]} ${number(lost)} of ${number(checked)}`,
  );
  return [
    table([...rows, { 'power cuts': '**all**', images: cuts.total }]),
    `Of ${number(cuts.operations.length)} operations with ${number(checkpointsOf(cuts))} checkpoints. ` +
      `Acknowledged plants looked for in the images: ${number(cuts.checked)}; lost: ` +
      `${number(cuts.lost)}; damaged images: ${number(cuts.damaged)}. Lost where syncs do nothing: ` +
      `${seen.join(', ')}.`,
  ];
}
