import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { describePostgres, useDisk } from '../../bench/machine.js';
import { publish } from '../../bench/markdown.js';
import { Scenario } from '../ledger.js';
import { describeDrill, reportOn } from '../report.js';
import { killService, Service, Stage, type Played } from '../stage.js';
import { failOver } from './failovers.js';
import { newServer, storeOf } from './pair.js';

/** Milliseconds for which a server stands still: longer than any request may wait for it. */
const STILL_MS = 8_000;
/** For each so many kills it stands still once: that takes longer. */
const KILLS = 5;

/** `npm run drill:postgres`: strikes the service and its servers down under load. */
const { quick } = parseArgs({ options: { quick: { type: 'boolean', default: false } } }).values;
const [kills, failovers] = quick ? [2, 2] : [20, 6];
useDisk();

const played = [await killServices(kills), await killServer(kills), await failOver(failovers)];
const description = describeDrill(
  'drill:postgres',
  `- ${describePostgres()}; \`fsync\`, \`full_page_writes\` and \`synchronous_commit\` are on; in the failovers \`synchronous_standby_names\` names the standby`,
);
const report = [description, ...reportOn(played.flatMap(({ scenarios }) => scenarios))];
const wrong = played.flatMap((each) => each.wrong);
publish(report, wrong, quick ? undefined : ['reliability.md', 'drill']);

async function killServices(times: number): Promise<Played> {
  const scenario = new Scenario('`kill -9` of the service');
  const server = await newServer();
  const wrong = await killService(times, scenario, storeOf(server));
  await server.remove();
  return { scenarios: [scenario], wrong };
}

/** `kill -9` of the server, which starts again on its data; the service is left to itself. */
async function killServer(times: number): Promise<Played> {
  const killed = new Scenario('`kill -9` of the server');
  const still = new Scenario('`SIGSTOP` of the server');
  const server = await newServer();
  const stage = await Stage.start(await Service.over(storeOf(server)), killed);
  const kill = async (): Promise<void> => {
    await server.kill();
    await server.start();
  };
  const pause = async (): Promise<void> => {
    server.pause();
    await sleep(STILL_MS);
    server.resume();
  };
  for (let i = 0; i < times; i++) await stage.round(killed, kill);
  for (let i = 0; i < times / KILLS; i++) await stage.round(still, pause);
  const wrong = await stage.finish();
  await server.remove();
  return { scenarios: [killed, still], wrong };
}
