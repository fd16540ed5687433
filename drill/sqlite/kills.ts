import { join } from 'node:path';
import { temporaryFolder } from '../../bench/processes.js';
import { inLanes } from '../lanes.js';
import { Scenario } from '../scenario.js';
import { killService } from '../service-kills.js';
import type { Played } from '../stage.js';
import { integrityOf } from './image.js';

/** Services side by side, each over a file of its own: a start takes longer than all else. */
const LANES = 3;
/** Clients of each: while a service starts they do nothing but fail to connect, which takes time from it. */
const CLIENTS = 8;
/** Kills between two looks at the whole of a file. */
const INTERVAL = 25;

/** `kill -9` of services under load, which start again on their files. */
export async function killServices(times: number): Promise<Played> {
  const scenario = new Scenario('`kill -9` of the service');
  const shares = Array.from({ length: LANES }, (_, i) => Math.floor((times + i) / LANES));
  const wrong = await inLanes(LANES, shares, (share) => {
    const file = join(temporaryFolder(), 'store.sqlite');
    let looks = 0;
    const inspect = (): string[] =>
      looks++ % INTERVAL === 0 || looks > share ? integrityOf(file) : [];
    return killService(share, scenario, `sqlite:${file}`, inspect, { clients: CLIENTS });
  });
  return { scenarios: [scenario], wrong: wrong.flat() };
}
