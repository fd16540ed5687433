import { parseArgs } from 'node:util';
import { WORK } from '../../bench/processes.js';
import { inLanes } from '../lanes.js';
import { describeRun } from '../machine.js';
import { answersOf, notesOn, timesOf } from '../report.js';
import { finish } from '../run.js';
import { FAULTS } from './fault.js';
import { fillDisk } from './full-disk.js';
import { failDisk } from './io-errors.js';
import { killServices } from './kills.js';
import { cut, cutPower } from './power-cuts.js';
import { faultsOf, imagesOf } from './report.js';

/** `npm run drill:sqlite`: cuts the power, has the disk fail and run full, and kills the service. */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string' },
    recording: { type: 'string' },
  },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
/** What the kernel forgets. */
const SYNCS = FAULTS.filter(
  ({ operation, error, lasting }) => operation === 'sync' && error === 'EIO' && !lasting,
);
console.log(`seed ${seed}`);

/** How much of each is done. */
const { extent, faults, faultPoints, fills, kills } = values.quick
  ? {
      extent: { cycles: 1, plants: 12_000, points: 40, images: 100 },
      faults: SYNCS,
      faultPoints: 2,
      fills: 1,
      kills: 10,
    }
  : {
      extent: { cycles: 3, plants: 17_000, points: 2_200, images: 10_000 },
      faults: FAULTS,
      faultPoints: 5,
      fills: 10,
      kills: 1_000,
    };

if (values.recording !== undefined) {
  const { images, wrong } = await cut(values.recording, extent.points, seed);
  finish(JSON.stringify(images), wrong);
}
const cuts = await cutPower(extent, seed);
const errors = await inLanes(2, [...faults.entries()], ([i, fault]) =>
  failDisk(fault, faultPoints, seed + i),
);
const played = [await fillDisk(fills), await killServices(kills)];
const scenarios = played.flatMap((each) => each.scenarios);

const report = [
  `${describeRun('drill:sqlite', WORK)}\n- seed ${seed}`,
  imagesOf(cuts),
  faultsOf(errors),
  answersOf(scenarios),
  timesOf(scenarios),
  notesOn(scenarios),
];
const wrong = [cuts, ...errors, ...played].flatMap((each) => each.wrong);
finish(report.join('\n\n'), wrong, values.quick ? undefined : 'drill sqlite');
