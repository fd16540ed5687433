import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { useDisk } from '../../bench/machine.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { Scenario } from '../ledger.js';
import { publishReport, quick, race } from '../report.js';
import { killService, Service, Stage } from '../stage.js';
import { failDisk, FAULTS, reportOnErrors, type IoError } from './io-errors.js';
import { cutPower } from './power-cuts.js';
import { faultIn } from './replay.js';

// `npm run drill:sqlite`: power cuts, I/O errors, a full disk, and kills.

/** Bytes of the small disk, more than the longest log and a few rounds' plants, and the most left free in it. */
const [DISK_SIZE, MAX_FREE] = [160 * 2 ** 20, 2 ** 21];
/** Milliseconds of a full disk, and of a frozen service. */
const [FULL_MS, FREEZE_MS] = [1_000, 3_000];
/** Services killed in parallel, as starts take most of the time, and the clients of each, few, as they slow a start down. */
const [LANES, CLIENTS] = [3, 8];
/** Kills between two checks of a whole file. */
const CHECK_INTERVAL = 25;

useDisk();

/** A quick run has only single failures of syncs. */
const faults = FAULTS.filter(
  ({ operation, error, lasting }) =>
    !quick || (operation === 'sync' && error === 'EIO' && !lasting),
);
const [faultPoints, fills, kills] = quick ? [2, 1, 10] : [5, 10, race ? 60 : 1_000];

// A cut needs each plant once: what races for an id is checked without.
if (race)
  publishReport('', [], [], [await fillDisk(), await killServices(), await freezeService()]);

const cuts = await (quick ? cutPower(1, 12_000, 40, 100) : cutPower(3, 17_000, 2_600, 10_000));
const errors: IoError[] = [];
// One by one, as cutting the power keeps this process from its clients.
for (const fault of faults) errors.push(await failDisk(fault, faultPoints));
const played = [await fillDisk(), await killServices()];
const wrong = [cuts, ...errors].flatMap((each) => each.wrong);
publishReport('drill sqlite', [], wrong, played, ...cuts.report, reportOnErrors(errors));

/** Fills the disk under load, and frees it again. */
async function fillDisk(): Promise<Scenario> {
  const scenario = new Scenario('the disk is full');
  const store = new SqliteStore();
  const { folder } = store;
  // Needs root or user namespaces.
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_SIZE}`, 'tmpfs', folder]);
  const stage = await Stage.start(await Service.over(store), scenario, { pause: 0 });
  const strike = async (): Promise<void> => {
    const ballast = join(folder, 'ballast');
    const { bavail, bsize } = statfsSync(folder);
    const left = Math.floor(Math.random() * MAX_FREE);
    writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - left)));
    const before = scenario.counts.refused;
    await stage.until('the disk is full', () => scenario.counts.refused > before);
    await sleep(FULL_MS);
    rmSync(ballast);
  };
  for (let i = 0; i < fills; i++) await stage.round(scenario, strike);
  await stage.finish();
  scenario.learn(faultIn(store.path));
  execFileSync('umount', [folder]);
  return scenario;
}

/** Freezes the service, for less than its requests may take. */
async function freezeService(): Promise<Scenario> {
  const scenario = new Scenario('`SIGSTOP` of the service');
  const stage = await Stage.start(await Service.over(new SqliteStore()), scenario);
  for (let i = 0; i < fills; i++)
    await stage.round(scenario, () => stage.service.freeze(FREEZE_MS));
  await stage.finish();
  return scenario;
}

/** Kills services under load, and restarts them on their files. */
async function killServices(): Promise<Scenario> {
  const scenario = new Scenario('`kill -9` of the service');
  await Promise.all(
    Array.from({ length: LANES }, (_, i) => {
      const share = Math.floor((kills + i) / LANES);
      const store = new SqliteStore();
      let looks = 0;
      const inspect = () =>
        looks++ % CHECK_INTERVAL === 0 || looks > share ? faultIn(store.path) : undefined;
      return killService(share, scenario, store, { clients: CLIENTS }, inspect);
    }),
  );
  return scenario;
}
