import { setTimeout as sleep } from 'node:timers/promises';
import { table } from '../../bench/markdown.js';
import { Ledger, Scenario } from '../ledger.js';
import { Load } from '../load.js';
import type { Service } from '../stage.js';
import { createRecorded, FILES, restartsLog } from './recording.js';
import { Replay } from './replay.js';

/** Cuts with syncs of a file that do nothing, for each file: the drill must notice. */
const LIES = 10;
/** Kills under load before each long run, and the plants stored before each kill. */
const [KILLS, PLANTS] = [3, 300];

/**
 * Records a service under load, and cuts the power at many points of the recording.
 *
 * @param cycles repetitions of a few kills under load and a long run
 * @param plants of each long run; a checkpoint comes every 8,000
 * @param points operations before which the power is cut, in each way that makes a difference
 * @param images at least so many
 */
export async function cutPower(cycles: number, plants: number, points: number, images: number) {
  // A start that migrates opens and closes the store first, which would hide a missing recovery.
  const { store, service } = await createRecorded({ MIGRATE: 'off' });
  const { folder } = store;
  const ledger = new Ledger(new Scenario('power cuts'));
  await record(service, ledger, cycles, plants);
  const cuts = new Replay({ folder, ledger, points, left: store.path });
  const lies = FILES.map((lying) => new Replay({ folder, ledger, points: LIES, lying }));
  const checkpoints = cuts.operations.filter(
    ({ kind, file, outcome }) => kind === 'sync' && file === 'database' && outcome === 'done',
  ).length;
  await ledger.checkHistory(store);
  const wrong = [...ledger.scenario.wrong, ...cuts.wrong];
  // The recording or the drill may show too little.
  if (cuts.images < images) wrong.push(`${cuts.images} images, not ${images}`);
  if (checkpoints < cycles) wrong.push('too few checkpoints');
  // A missing log restarts too.
  if (cuts.operations.filter(restartsLog).length < 2 * cycles)
    wrong.push('too few logs that began again');
  if (lies.some(({ lost }) => lost === 0)) wrong.push('syncs that do nothing are not noticed');
  await store.remove();
  const row = ({ images, checked, lost }: Replay) => ({ images, checked, lost });
  const report = table([
    { 'power cuts': 'all', ...row(cuts) },
    ...lies.map((each, i) => ({
      'power cuts': `syncs of the ${FILES[i]} do nothing`,
      ...row(each),
    })),
  ]);
  return { report, wrong };
}

/** Runs the service under load, and kills or stops it repeatedly. */
async function record(service: Service, ledger: Ledger, cycles: number, plants: number) {
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
}

/** Starts the service. Resolves once it has stored `plants` new ones; the load continues. */
async function live(service: Service, ledger: Ledger, plants: number): Promise<Load> {
  await service.start();
  const client = service.client();
  // First only the plants without a 200, so that no other plant causes a sync.
  for (const id of ledger.history.ids)
    if (!ledger.acknowledged.has(id)) await ledger.send(client, id);
  const enough = ledger.acknowledged.size + plants;
  const load = new Load(client, ledger, { pause: 0, repeats: 1 / 8, contents: 1 });
  while (ledger.acknowledged.size < enough && !service.exit) await sleep(20);
  return load;
}
