import { setTimeout as sleep } from 'node:timers/promises';
import { table } from '../../bench/markdown.js';
import type { SqliteStore } from '../../test/support/sqlite-store.js';
import { Scenario, type Ledger } from '../ledger.js';
import { send } from '../load.js';
import { Random } from '../random.js';
import { Service, Stage } from '../stage.js';
import { createRecorded, FILES, OPERATIONS, type Fault, type FaultyDisk } from './recording.js';
import { faultsIn, Replay, sentOf } from './replay.js';

/** Milliseconds of a lasting fault, and for a service to end after a fault. */
const LASTING_MS = 1_000;
const ENDING_MS = 500;
/** Long names, many sent again, cause a checkpoint every 650 new plants. */
const LOAD = { pause: 0, areLong: true, repeats: 3 / 4 };
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

/** The results of a fault. The exit code is undefined if the service continued. */
export type IoError = Awaited<ReturnType<typeof failDisk>>;

/**
 * Makes the disk of a service under load fail, restarts the service if it ends, kills it later, and cuts
 * the power after the fault.
 *
 * @param points operations before which the power is cut, in each way that makes a difference
 */
export async function failDisk(fault: Fault, points: number, seed: number) {
  const { service, store, disk } = await createRecorded();
  const { operation, file, error, lasting } = fault;
  const scenario = new Scenario(`${error}: ${operation}, ${file}, ${lasting ? 'for 1 s' : 'once'}`);
  const after = process.hrtime.bigint();
  const stage = await Stage.start(service, scenario, LOAD);
  let exit: number | null | undefined;
  const wrong = await problemsOf(async () => {
    await stage.round(scenario, async () => {
      exit = await strike(disk, service, fault, new Random(seed));
    });
    const enough = stage.ledger.acknowledged.size + PLANTS;
    await stage.until('enough plants were stored', () => stage.ledger.acknowledged.size >= enough);
    await stage.round(new Scenario('a kill after the fault'), () => service.restart());
    return exit === undefined || exit === IO_ERROR ? [] : [`the service ended with ${exit}`];
  });
  wrong.push(...(await problemsOf(() => stage.finish())), ...integrityOf(store));
  const sent = sentOf(stage.ledger);
  const cuts = new Replay({ folder: store.folder, sent, seed, points, after });
  wrong.push(...cuts.wrong.slice(0, 1));
  const left = new Service(cuts.image, service.token);
  wrong.push(...(await problemsOf(() => resend(left, stage.ledger))));
  await store.remove();
  await cuts.image.remove();
  return { scenario, exit, cuts, wrong: wrong.map((each) => `${scenario.name}: ${each}`) };
}

async function problemsOf(work: () => Promise<string[]>): Promise<string[]> {
  try {
    return await work();
  } catch (error) {
    return [String(error)];
  }
}

/** @returns the exit code of the service, if it ended and was restarted */
async function strike(disk: FaultyDisk, service: Service, fault: Fault, random: Random) {
  // A checkpoint syncs and truncates the database once; other operations are frequent.
  const isRare = fault.file === 'database' && /sync|truncate/.test(fault.operation);
  disk.arm(fault, isRare ? 1 : 1 + random.below(50));
  const since = performance.now();
  while (!disk.hasFailed) {
    if (performance.now() - since > 60_000) throw new Error('the fault does not strike');
    await sleep(20);
  }
  if (fault.lasting) await sleep(LASTING_MS);
  disk.repair();
  await sleep(ENDING_MS);
  const { exit } = service;
  if (exit) await service.start();
  return exit?.code;
}

/** Starts a service after a power cut, and sends the last plants again. */
async function resend(service: Service, { acknowledged }: Ledger): Promise<string[]> {
  await service.start();
  const client = service.client();
  const wrong: string[] = [];
  for (const id of [...acknowledged.keys()].slice(-RESENT)) {
    const { kind } = await send(client, id);
    if (kind !== 'acknowledged') wrong.push(`plant ${id}, sent again after a power cut: ${kind}`);
  }
  client.close();
  await service.end();
  return wrong.slice(0, 1);
}

/** The findings of SQLite's integrity check, or its error. */
export function integrityOf(store: SqliteStore): string[] {
  const database = store.open();
  try {
    return faultsIn(database);
  } catch (error) {
    return [String(error)];
  } finally {
    database.close();
  }
}

/** Reports the effect of each fault on clients, the service, and the plants after a power cut. */
export function reportOnErrors(errors: readonly IoError[]): string {
  return table(
    errors.map(({ scenario: { name, answers, lost }, exit, cuts }) => ({
      'I/O errors': name,
      acknowledged: answers.acknowledged,
      refused: answers.refused,
      unknown: answers.unknown,
      'the service': exit === undefined ? 'continued' : `exit ${exit}`,
      images: cuts.total,
      lost: lost + cuts.lost,
    })),
  );
}
