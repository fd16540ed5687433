import { setTimeout as sleep } from 'node:timers/promises';
import { Scenario, type Ledger } from '../ledger.js';
import { plantOf, send } from '../plants.js';
import { Service, Stage } from '../stage.js';
import { random } from './disk.js';
import { createRecorded, FILES, OPERATIONS, type Fault, type FaultyDisk } from './recording.js';
import { faultIn, Replay } from './replay.js';

/** Milliseconds of a lasting fault, and of each wait at most. */
const [LASTING_MS, MAX_WAIT_MS] = [1_000, 60_000];
/** Long names, many sent again, cause a checkpoint every 650 new plants. */
const LOAD = { pause: 0, areLong: true, repeats: 3 / 4, contents: 1 };
/** New plants after the fault: more than a checkpoint's worth, so that the log restarts. */
const PLANTS = 1_000;
/** The exit code of a service that no longer trusts its files (EX_IOERR of sysexits.h). */
const IO_ERROR = 74;
/** Plants sent again to a service that starts after a power cut. */
const RESENT = 300;

/** All possible faults. Reads need no space; the service never truncates its log, and unlinks it only at its end. */
export const FAULTS: readonly Fault[] = (['EIO', 'ENOSPC'] as const).flatMap((error) =>
  FILES.flatMap((file) =>
    OPERATIONS.flatMap((operation) => {
      if (operation === 'unlink' || (operation === 'truncate' && file === 'log')) return [];
      if (operation === 'read' && error === 'ENOSPC') return [];
      return [false, true].map((lasting) => ({ operation, file, error, lasting }));
    }),
  ),
);

/**
 * Makes the disk of a service under load fail, restarts the service if it ends, kills it later, and cuts
 * the power after the fault.
 *
 * @param points operations before which the power is cut, in each way that makes a difference
 */
export async function failDisk(fault: Fault, points: number): Promise<Scenario[]> {
  const { service, store, disk } = await createRecorded();
  const { operation, file, error, lasting } = fault;
  const scenario = new Scenario(`${error}: ${operation}, ${file}, ${lasting ? 'for 1 s' : 'once'}`);
  const later = new Scenario(`${scenario.name}, then a kill`);
  const attempt = (work: () => Promise<void>) =>
    work().catch((problem: unknown) => scenario.learn(String(problem)));
  const after = process.hrtime.bigint();
  const stage = await Stage.start(service, scenario, LOAD);
  await attempt(async () => {
    await stage.round(scenario, () => strike(disk, stage, fault));
    const enough = stage.ledger.acknowledged.size + PLANTS;
    await stage.until('enough plants were stored', () => stage.ledger.acknowledged.size >= enough);
    await stage.round(later, () => service.restart());
  });
  await attempt(() => stage.finish());
  const cuts = new Replay({ folder: store.folder, ledger: stage.ledger, points, after });
  scenario.learn(faultIn(store.path), ...cuts.wrong.slice(0, 1));
  if (cuts.images === 0) scenario.learn('the power was never cut');
  await attempt(() => resend(new Service(cuts.image, service.token), stage.ledger));
  await store.remove();
  await cuts.image.remove();
  return [scenario, later];
}

/** Ends after the fault. The service goes on, or has ended for an I/O error and is restarted; a failed sync ends it. */
async function strike(disk: FaultyDisk, { service, ledger }: Stage, fault: Fault): Promise<void> {
  // A checkpoint syncs and truncates the database once; other operations are frequent.
  const isRare = fault.file === 'database' && /sync|truncate/.test(fault.operation);
  disk.arm(fault, isRare ? 1 : 1 + random(50));
  await wait('the fault does not strike', () => disk.hasFailed);
  if (fault.lasting) await sleep(LASTING_MS);
  disk.repair();
  const repaired = performance.now();
  const isDecided = () => service.exit !== undefined || ledger.isQuiet(repaired);
  await wait('the service neither ends nor goes on', isDecided);
  const { exit } = service;
  if (exit ? exit.code !== IO_ERROR : fault.operation === 'sync')
    throw new Error(`the service ${exit ? `ended with ${exit.code}` : 'went on'}`);
  if (exit) await service.start();
}

async function wait(problem: string, isOver: () => boolean): Promise<void> {
  const since = performance.now();
  while (!isOver()) {
    if (performance.now() - since > MAX_WAIT_MS) throw new Error(problem);
    await sleep(20);
  }
}

/** Starts a service after a power cut, and sends the last plants again. */
async function resend(service: Service, { acknowledged }: Ledger): Promise<void> {
  await service.start();
  const client = service.client();
  const ids = [...acknowledged.keys()].slice(-RESENT);
  const outcomes = await Promise.all(ids.map((id) => send(client, plantOf(id))));
  client.close();
  await service.end();
  const failed = outcomes.find(({ kind }) => kind !== 'acknowledged');
  if (failed) throw new Error(`a plant sent again after a power cut: ${failed.text}`);
}
