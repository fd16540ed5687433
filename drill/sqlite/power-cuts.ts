import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { number, table } from '../../bench/markdown.js';
import { Ledger, Scenario } from '../ledger.js';
import { Load, send } from '../load.js';
import type { Service } from '../stage.js';
import { FILES, Recording, restartsLog } from './recording.js';
import { Replay, sentOf, type Sent } from './replay.js';

/** Cuts with a disk that lies, for each of the files: the drill must notice. */
const LIES = 10;
/** Kills under load before each long life, and the plants that are stored before each. */
const KILLS = 3;
const PLANTS = 300;
/** What clients have sent, in the folder of a recording that is kept. */
const SENT = 'sent.txt';

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
  writeFileSync(join(kept, SENT), [...sent].map(([id, at]) => `${id} ${at ?? ''}`).join('\n'));
  return kept;
}

/** Cuts the power again in a recording that was kept. */
export function cutAgain(folder: string, points: number, seed: number): Replay {
  const lines = readFileSync(join(folder, SENT), 'utf8').split('\n');
  const sent = new Map(
    lines.map((line) => {
      const [id = '', at = ''] = line.split(' ');
      return [BigInt(id), at === '' ? undefined : BigInt(at)];
    }),
  );
  return new Replay({ folder, sent, seed, points, left: join(folder, 'data/store.sqlite') });
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
  for (const id of ledger.open) ledger.note(id, await send(client, id), 0);
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
  const restarts = cuts.operations.filter(restartsLog).length;
  return [
    ...(cuts.total < images ? [`${cuts.total} images, not ${images}`] : []),
    ...(checkpointsOf(cuts) < cycles ? ['too few checkpoints'] : []),
    // Where there is no log, one begins too.
    ...(restarts < 2 * cycles ? ['too few logs that began again'] : []),
    ...blind,
  ];
}

function checkpointsOf({ operations }: Replay): number {
  const isOne = ({ kind, file, outcome }: (typeof operations)[number]) =>
    kind === 'sync' && file === 'database' && outcome === 'done';
  return operations.filter(isOne).length;
}

/** Images by the kind of cut, and what was found in them. */
function reportOn(cuts: Replay, lies: readonly Replay[]): string[] {
  const rows = Object.entries(cuts.images).map(([kind, n]) => [kind, number(n)]);
  const seen = lies.map(
    ({ lost, checked }, i) => `of the ${FILES[i]} ${number(lost)} of ${number(checked)}`,
  );
  return [
    table(['power cuts', 'images'], [...rows, ['**all**', `**${number(cuts.total)}**`]]),
    `Of ${number(cuts.operations.length)} operations with ${number(checkpointsOf(cuts))} checkpoints. ` +
      `Acknowledged plants looked for in the images: ${number(cuts.checked)}; lost: ` +
      `${number(cuts.lost)}; damaged images: ${number(cuts.damaged)}. Lost where syncs do nothing: ` +
      `${seen.join(', ')}.`,
  ];
}
