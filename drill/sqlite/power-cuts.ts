import { cpSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { number, table } from '../../bench/markdown.js';
import { Ledger, Scenario } from '../ledger.js';
import { Load, send } from '../load.js';
import type { Service } from '../stage.js';
import { KINDS, type Kind } from './cuts.js';
import { FILES, MEMORY, Recording } from './recording.js';
import { Replay, writeSent } from './replay.js';

/** Cuts with a disk that lies, for each of the files: the drill must notice. */
const LIES = 10;
/** Kills under load before each long life, and the plants that are stored before each. */
const KILLS = 3;
const PLANTS = 300;

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

/** Records a service under load, and cuts the power again and again in what was recorded. */
export async function cutPower(extent: Extent, seed: number) {
  // A start that migrates opens and closes the store before, which would hide what others leave to do.
  const { store, service } = await Recording.of({ MIGRATE: 'off' });
  const { folder } = store;
  const ledger = await record(service, extent);
  writeSent(ledger, folder);
  const image = join(MEMORY, 'image.sqlite');
  const cuts = new Replay({ folder, seed, points: extent.points, image, left: store.path });
  const lies = FILES.map((lying) => new Replay({ folder, seed, points: LIES, image, lying }));
  const wrong = [...ledger.wrong, ...cuts.wrong, ...doubts(cuts, lies, extent)];
  if (wrong.length > 0) {
    const kept = resolve('drill/.work', `recording-${Date.now()}`);
    cpSync(folder, kept, { recursive: true });
    wrong.push(`the recording is kept in ${kept}`);
  }
  await store.remove();
  return { report: reportOn(cuts, lies), wrong };
}

/** Starts the service again and again, and kills it or ends it, under load. */
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
    // The last one leaves its log.
    await service.end(cycle < cycles ? 'SIGTERM' : 'SIGKILL');
  }
  return ledger;
}

/** Starts the service, and resolves once it has stored so many plants; the load goes on. */
async function live(service: Service, ledger: Ledger, plants: number): Promise<Load> {
  await service.start();
  const client = service.client();
  // First those that have no 200, and nothing else: no other plant brings a sync.
  for (const id of ledger.open.keys()) ledger.note(id, await send(client, id), 0);
  const enough = ledger.acknowledged.size + plants;
  const load = new Load(client, ledger, { pause: 0 });
  while (ledger.acknowledged.size < enough && service.lives) await sleep(20);
  return load;
}

/** Why the recording or the drill would show too little. */
function doubts(cuts: Replay, lies: readonly Replay[], { cycles, images }: Extent): string[] {
  const blind = lies.flatMap(({ lost }, i) =>
    lost === 0 ? [`no plant is missed with syncs of the ${FILES[i]} that do nothing`] : [],
  );
  return [
    ...(cuts.total < images ? [`${cuts.total} images, not ${images}`] : []),
    ...(cuts.checkpoints < cycles ? ['too few checkpoints'] : []),
    // Where there is no log, one begins too.
    ...(cuts.restarts < 2 * cycles ? ['too few logs that began again'] : []),
    ...blind,
  ];
}

/** Images by the kind of cut, and what was found in them. */
function reportOn(cuts: Replay, lies: readonly Replay[]): string[] {
  const kinds = Object.keys(KINDS) as Kind[];
  const rows = kinds.map((kind) => [kind, number(cuts.images[kind] ?? 0)]);
  const seen = lies.map(
    ({ lost, checked }, i) =>
      `with syncs of the ${FILES[i]} that do nothing ${number(lost)} of ${number(checked)} were lost`,
  );
  return [
    table(['power cuts', 'images'], [...rows, ['**all**', `**${number(cuts.total)}**`]]),
    `Of ${number(cuts.operations.length)} operations with ${number(cuts.checkpoints)} checkpoints. ` +
      `Acknowledged plants looked for in the images: ${number(cuts.checked)}; lost: ` +
      `${number(cuts.lost)}; damaged images: ${number(cuts.damaged)}. That the drill can see: ` +
      `${seen.join(', ')}.`,
  ];
}

/** Cuts the power again in a recording that was kept. */
export function cutAgain(folder: string, points: number, seed: number): Replay {
  const [image, left] = [join(MEMORY, 'image.sqlite'), join(folder, 'data/store.sqlite')];
  return new Replay({ folder, seed, points, image, left });
}
