import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { Proxy } from '../../test/support/proxy.js';
import { Scenario } from '../ledger.js';
import { Service, Stage, type Played } from '../stage.js';
import { Pair, storeOf } from './pair.js';

/** Milliseconds for which the proxy leads to the old primary: long enough for a commit to hang. */
const ASTRAY_MS = 4_000;
/** Milliseconds for which it leads to a standby that is not promoted yet. */
const AHEAD_MS = 1_000;

/** Failovers from a primary to its synchronous standby, and what can go wrong beside them. */
export async function failOver(times: number): Promise<Played> {
  const orderly = new Scenario('failover, proxy follows');
  const hasty = new Scenario('failover, proxy ahead');
  const split = new Scenario('proxy to the old primary, still one');
  const readOnly = new Scenario('proxy to the old primary, read-only');
  const pair = await Pair.start();
  const proxy = await Proxy.start(pair.primary.port);
  const url = new URL(pair.primary.url());
  url.port = String(proxy.port);
  const service = await Service.over(new PostgresStore(url.href, 'postgres'));
  const stage = await Stage.start(service, orderly);
  const astray = () => stray(pair, proxy);

  for (let i = 0; i < times; i++) {
    const promoted = storeOf(pair.other);
    if (i % 2 === 0) await stage.round(orderly, () => follow(pair, proxy), promoted);
    else await stage.round(hasty, () => runAhead(pair, proxy), promoted);
    await pair.other.start();
    await stage.round(split, astray, storeOf(pair.primary));
    await pair.raiseReadOnly();
    await stage.round(readOnly, astray, storeOf(pair.primary));
    await pair.renew();
  }
  const wrong = await stage.finish(storeOf(pair.primary));
  await proxy.stop();
  await pair.remove();
  return { scenarios: [orderly, hasty, split, readOnly], wrong };
}

async function follow(pair: Pair, proxy: Proxy): Promise<void> {
  // What is left of the old primary is not waited for.
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

async function stray(pair: Pair, proxy: Proxy): Promise<void> {
  proxy.pointAt(pair.other.port);
  await sleep(ASTRAY_MS);
  proxy.pointAt(pair.primary.port);
}
