import { setTimeout as sleep } from 'node:timers/promises';
import { useDisk } from '../../bench/machine.js';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { Proxy } from '../../test/support/proxy.js';
import { Scenario } from '../ledger.js';
import { publishReport, quick } from '../report.js';
import { killService, Service, Stage } from '../stage.js';
import { Pair, storeOf } from './pair.js';

/** Milliseconds of a freeze, longer than any request may wait; and the kills for each freeze. */
const [FREEZE_MS, KILLS_PER_FREEZE] = [8_000, 5];
/** Milliseconds of the proxy at the old primary, so that commits hang; and at a standby before its promotion. */
const [ASTRAY_MS, AHEAD_MS] = [4_000, 1_000];
/** Milliseconds without a network between the service and the server. */
const CUT_MS = 2_000;

/** `npm run drill:postgres`: kills and freezes the service and its servers under load. */
const [kills, failovers] = quick ? [2, 2] : [20, 6];
useDisk();

const played = [await killServices(), ...(await killServer()), ...(await failOver())];
const settings =
  '- `fsync`, `full_page_writes` and `synchronous_commit` are on; in the failovers `synchronous_standby_names` names the standby';
publishReport('drill', [settings], [], played);

async function killServices(): Promise<Scenario> {
  const scenario = new Scenario('`kill -9` of the service');
  const server = await PostgresServer.start();
  await killService(kills, scenario, storeOf(server));
  await server.remove();
  return scenario;
}

/** Kills and freezes the server under a running service. */
async function killServer(): Promise<Scenario[]> {
  const killed = new Scenario('`kill -9` of the server');
  const still = new Scenario('`SIGSTOP` of the server');
  const server = await PostgresServer.start();
  const stage = await Stage.start(await Service.over(storeOf(server)), killed);
  for (let i = 0; i < kills; i++) {
    await stage.round(killed, async () => {
      await server.kill();
      await server.start();
    });
  }
  for (let i = 0; i < kills / KILLS_PER_FREEZE; i++) {
    await stage.round(still, async () => {
      server.pause();
      await sleep(FREEZE_MS);
      server.resume();
    });
  }
  await stage.finish();
  await server.remove();
  return [killed, still];
}

/** Failovers from a primary to its synchronous standby, and failures around them. */
async function failOver(): Promise<Scenario[]> {
  const orderly = new Scenario('failover, proxy follows');
  const hasty = new Scenario('failover, proxy ahead');
  const split = new Scenario('proxy to the old primary, still one');
  const readOnly = new Scenario('proxy to the old primary, read-only');
  const cut = new Scenario('no network to the server');
  const pair = await Pair.start();
  const proxy = await Proxy.start(pair.primary.port);
  const url = new URL(pair.primary.url());
  url.port = String(proxy.port);
  const service = await Service.over(new PostgresStore(url.href, 'postgres'));
  const stage = await Stage.start(service, orderly);
  const astray = () => stray(pair, proxy);

  for (let i = 0; i < failovers; i++) {
    if (i % 2 === 0) await stage.round(orderly, () => follow(pair, proxy));
    else await stage.round(hasty, () => runAhead(pair, proxy));
    await pair.other.start();
    await stage.round(split, astray);
    await stage.round(cut, () => cutNetwork(pair, proxy));
    await pair.raiseReadOnly();
    await stage.round(readOnly, astray);
    await pair.renew();
  }
  await stage.finish(storeOf(pair.primary));
  await proxy.stop();
  await pair.remove();
  return [orderly, hasty, split, readOnly, cut];
}

async function follow(pair: Pair, proxy: Proxy): Promise<void> {
  // The promotion does not wait for the old primary's exit.
  const gone = pair.primary.kill();
  await pair.promote();
  proxy.pointAt(pair.primary.port);
  await gone;
}

async function runAhead(pair: Pair, proxy: Proxy): Promise<void> {
  proxy.pointAt(pair.other.port);
  await pair.primary.kill();
  await sleep(AHEAD_MS);
  await pair.promote();
}

async function cutNetwork(pair: Pair, proxy: Proxy): Promise<void> {
  proxy.pointAt(0);
  await sleep(CUT_MS);
  proxy.pointAt(pair.primary.port);
}

async function stray(pair: Pair, proxy: Proxy): Promise<void> {
  proxy.pointAt(pair.other.port);
  await sleep(ASTRAY_MS);
  proxy.pointAt(pair.primary.port);
}
