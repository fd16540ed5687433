import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '../../bench/processes.js';
import { Scenario } from '../scenario.js';
import { Service } from '../service.js';
import { Stage, type Played } from '../stage.js';
import { integrityOf } from './image.js';

/** Bytes of the disk: more than the log takes at its longest, and a few rounds' plants. */
const DISK = 160 * 2 ** 20;
/** Bytes that are left at most when the disk is about to be full. */
const LEFT = 2 ** 21;
/** Milliseconds for which the disk is full; and how long that may take. */
const FULL = 1_000;
const PATIENCE = 60_000;

/** The disk runs full under load, and has room again; the service is left to itself. */
export async function fillDisk(times: number): Promise<Played> {
  const scenario = new Scenario('the disk is full');
  const folder = mountDisk();
  const file = join(folder, 'store.sqlite');
  const store = `sqlite:${file}`;
  const stage = await Stage.start(new Service(store), scenario, { pause: 0 });
  const strike = async (): Promise<void> => {
    const ballast = join(folder, 'ballast');
    const { bavail, bsize } = statfsSync(folder);
    const left = Math.floor(Math.random() * LEFT);
    writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - left)));
    await refusalOf(scenario, stage.service);
    await sleep(FULL);
    rmSync(ballast);
  };
  for (let i = 0; i < times; i++) await stage.round(scenario, strike, store);
  const wrong = [...(await stage.finish(store)), ...integrityOf(file)];
  execFileSync('umount', [folder]);
  return { scenarios: [scenario], wrong };
}

/** @throws Error where there may be no mounts */
function mountDisk(): string {
  const folder = temporaryFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', folder]);
  } catch (cause) {
    throw new Error('a small disk cannot be mounted: that takes root, or user namespaces', {
      cause,
    });
  }
  return folder;
}

/** Resolves when the next plant is refused. */
async function refusalOf(scenario: Scenario, service: Service): Promise<void> {
  const [before, since] = [scenario.refusals, performance.now()];
  while (scenario.refusals === before) {
    if (!service.lives) throw new Error('the service has ended on a full disk');
    if (performance.now() - since > PATIENCE) throw new Error('the disk does not run full');
    await sleep(20);
  }
}
