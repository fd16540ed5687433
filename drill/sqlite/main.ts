import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { useDisk } from '../../bench/machine.js';
import { publish } from '../../bench/markdown.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { Scenario } from '../ledger.js';
import { describeDrill, reportOn } from '../report.js';
import { killService, Service, Stage, type Played } from '../stage.js';
import { failDisk, FAULTS, integrityOf, reportOnErrors, type IoError } from './io-errors.js';
import { cutAgain, cutPower } from './power-cuts.js';

/** Bytes of the small disk: more than the log takes at its longest, and a few rounds' plants. */
const DISK = 160 * 2 ** 20;
/** Bytes that are left at most when the disk is about to be full; milliseconds for which it is. */
const LEFT = 2 ** 21;
const FULL_MS = 1_000;
/** Services that are killed side by side, each over a file of its own: a start takes longer than all else. */
const LANES = 3;
/** Clients of each: while a service starts they do nothing but fail to connect, which takes time from it. */
const CLIENTS = 8;
/** Kills between two looks at the whole of a file. */
const INTERVAL = 25;

/** `npm run drill:sqlite`: cuts the power, has the disk fail and run full, and kills the service. */
const {
  quick,
  seed: given,
  recording,
} = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    // Cuts the power again in a recording that was kept.
    recording: { type: 'string' },
  },
}).values;
const seed = Number(given);
console.log(`seed ${seed}`);
useDisk();

/** A quick run has the faults that the kernel forgets. */
const faults = FAULTS.filter(
  ({ operation, error, lasting }) =>
    !quick || (operation === 'sync' && error === 'EIO' && !lasting),
);
const extent = quick
  ? { cycles: 1, plants: 12_000, points: 40, images: 100 }
  : { cycles: 3, plants: 17_000, points: 2_200, images: 10_000 };
const [faultPoints, fills, kills] = quick ? [2, 1, 10] : [5, 10, 1_000];

if (recording !== undefined) {
  const { images, wrong } = cutAgain(recording, extent.points, seed);
  publish([JSON.stringify(images)], wrong);
}
const cuts = await cutPower(extent, seed);
const errors: IoError[] = [];
// One after the other: cutting the power keeps this process from its clients.
for (const [i, fault] of faults.entries())
  errors.push(await failDisk(fault, faultPoints, seed + i));
const played = [await fillDisk(fills), await killServices(kills)];
const report = [
  describeDrill(`- seed ${seed}`),
  ...cuts.report,
  reportOnErrors(errors),
  ...reportOn(played.flatMap(({ scenarios }) => scenarios)),
];
const wrong = [cuts, ...errors, ...played].flatMap((each) => each.wrong);
publish(report, wrong, quick ? undefined : ['drill/RESULTS.md', 'drill sqlite']);

/** The disk runs full under load, and has room again; the service is left to itself. */
async function fillDisk(times: number): Promise<Played> {
  const scenario = new Scenario('the disk is full');
  const store = new SqliteStore();
  const { folder } = store;
  // That takes root, or user namespaces.
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', folder]);
  const stage = await Stage.start(await Service.over(store), scenario, { pause: 0 });
  const strike = async (): Promise<void> => {
    const ballast = join(folder, 'ballast');
    const { bavail, bsize } = statfsSync(folder);
    const left = Math.floor(Math.random() * LEFT);
    writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - left)));
    const before = scenario.answers.refused;
    await stage.until('the disk is full', () => scenario.answers.refused > before);
    await sleep(FULL_MS);
    rmSync(ballast);
  };
  for (let i = 0; i < times; i++) await stage.round(scenario, strike);
  const wrong = [...(await stage.finish()), ...integrityOf(store)];
  execFileSync('umount', [folder]);
  return { scenarios: [scenario], wrong };
}

/** `kill -9` of services under load, which start again on their files. */
async function killServices(times: number): Promise<Played> {
  const scenario = new Scenario('`kill -9` of the service');
  const wrong = await Promise.all(
    Array.from({ length: LANES }, (_, i) => {
      const share = Math.floor((times + i) / LANES);
      const store = new SqliteStore();
      let looks = 0;
      const inspect = () => (looks++ % INTERVAL === 0 || looks > share ? integrityOf(store) : []);
      return killService(share, scenario, store, inspect, { clients: CLIENTS });
    }),
  );
  return { scenarios: [scenario], wrong: wrong.flat() };
}
