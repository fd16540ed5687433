import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { useDisk } from '../../bench/machine.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { strikeGardens } from '../gardens.js';
import { Scenario } from '../ledger.js';
import { finish, quick, runParts } from '../report.js';
import { revokeTokens } from '../revocations.js';
import { disturb, type Stage } from '../stage.js';
import { proveStates } from '../states.js';

import { setClock } from './clock.js';
import { failDisk, FAULTS } from './io-errors.js';
import { cutPower } from './power-cuts.js';
import { changeStore } from './operators.js';
import { faultIn } from './replay.js';
import { openPlace } from './states.js';

// `npm run drill:sqlite`: power cuts, I/O errors, a full disk, kills, a frozen service, and operators.

/** Bytes of the small disk, more than the longest log and a few rounds' plants, and the most left free in it. */
const [DISK_SIZE, MAX_FREE] = [160 * 2 ** 20, 2 ** 21];
/** Milliseconds of a full disk, and of a frozen service: less than its requests may take. */
const [FULL_MS, FREEZE_MS] = [1_000, 3_000];
/** Services killed in parallel, as starts take most of the time, and the clients of each, few, as they slow a start down. */
const [LANES, CLIENTS] = [3, 8];

useDisk();

/** A quick run has only single failures of syncs. */
const faults = FAULTS.filter(
  ({ operation, error, lasting }) =>
    !quick || (operation === 'sync' && error === 'EIO' && !lasting),
);
const [faultPoints, times, kills, gardenKills] = quick ? [2, 1, 4, 1] : [5, 10, 333, 10];

const reports: string[] = [];
const wrong: string[] = [];
const scenarios = await runParts({
  async 'power-cuts'() {
    const cuts = await (quick ? cutPower(1, 12_000, 40, 100) : cutPower(3, 17_000, 2_600, 10_000));
    reports.push(cuts.report);
    wrong.push(...cuts.wrong);
    return [];
  },
  async 'io-errors'() {
    const errors: Scenario[] = [];
    // One by one, as cutting the power keeps this process from its clients.
    for (const fault of faults) errors.push(...(await failDisk(fault, faultPoints)));
    return errors;
  },
  'full-disk': fillDisk,
  frozen: () => disturb(new Scenario('`SIGSTOP` of the service'), times, new SqliteStore(), freeze),
  killed: killServices,
  gardens: () =>
    strikeGardens('`kill -9` of the service', gardenKills, new SqliteStore(), ({ service }) =>
      service.restart(),
    ),
  operators: () => changeStore(times),

  states: () => proveStates(openPlace),
  clock: () => setClock(times),
  revoked: () => revokeTokens(quick ? 1 : 5, new SqliteStore()),
});
finish(scenarios, reports, wrong);

/** Fills the disk under load, and frees it again. */
async function fillDisk(): Promise<Scenario[]> {
  const full = new Scenario('the disk is full');
  const store = new SqliteStore();
  const { folder } = store;
  const ballast = join(folder, 'ballast');
  // Needs root or user namespaces.
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_SIZE}`, 'tmpfs', folder]);
  const strike = async (stage: Stage): Promise<void> => {
    const { bavail, bsize } = statfsSync(folder);
    const left = Math.floor(Math.random() * MAX_FREE);
    try {
      writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - left)));
    } catch (error) {
      // The service has written meanwhile: the disk is full all the same.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
    const before = full.counts.refused;
    await stage.until('the disk is full', () => full.counts.refused > before);
    await sleep(FULL_MS);
    rmSync(ballast);
  };
  await disturb(full, times, store, strike, { pause: 0, repeats: 1 / 8 });
  full.learn(faultIn(store.path));
  execFileSync('umount', [folder]);
  return [full];
}

async function freeze({ service }: Stage): Promise<void> {
  service.signal('SIGSTOP');
  await sleep(FREEZE_MS);
  service.signal('SIGCONT');
}

/** Kills services under load, and restarts each on its files. */
async function killServices(): Promise<Scenario[]> {
  const killed = new Scenario('`kill -9` of the service');
  const kill = async (): Promise<void> => {
    const store = new SqliteStore();
    await disturb(killed, kills, store, ({ service }) => service.restart(), { clients: CLIENTS });
    killed.learn(faultIn(store.path));
  };
  await Promise.all(Array.from({ length: LANES }, kill));
  return [killed];
}
