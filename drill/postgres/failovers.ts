import { setTimeout as sleep } from 'node:timers/promises';
import { Pair } from './pair.js';
import { Proxy } from './proxy.js';
import { Scenario } from '../scenario.js';
import { Service } from '../service.js';
import { Stage, type Played } from '../stage.js';

/** Milliseconds for which the proxy leads to the old primary: long enough for a commit to hang. */
const ASTRAY = 4_000;
/** Milliseconds for which it leads to a standby that is not promoted yet. */
const AHEAD = 1_000;

/** Failovers from a primary to its synchronous standby, and what can go wrong beside them. */
export async function failOver(times: number): Promise<Played> {
  const orderly = new Scenario('failover, then the proxy follows');
  const hasty = new Scenario('failover, but the proxy is ahead of it');
  const split = new Scenario('the proxy strays to the old primary, which still is one');
  const readOnly = new Scenario('the proxy strays to the old primary, which only reads');
  const pair = await Pair.start();
  const proxy = await Proxy.start(pair.primary.port);
  const url = new URL(pair.primary.url());
  url.port = String(proxy.port);
  const stage = await Stage.start(new Service(url.href), orderly);

  for (let i = 0; i < times; i++) {
    if (i % 2 === 0) await stage.round(orderly, () => follow(pair, proxy), pair.other.url());
    else await stage.round(hasty, () => runAhead(pair, proxy), pair.other.url());
    await pair.raise();
    await stage.round(split, () => stray(pair, proxy), pair.primary.url());
    await pair.raiseReadOnly();
    await stage.round(readOnly, () => stray(pair, proxy), pair.primary.url());
    await pair.renew();
  }
  const wrong = await stage.finish(pair.primary.url());
  proxy.stop();
  await pair.discard();
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
  await sleep(AHEAD);
  await pair.promote();
}

async function stray(pair: Pair, proxy: Proxy): Promise<void> {
  proxy.pointAt(pair.other.port);
  await sleep(ASTRAY);
  proxy.pointAt(pair.primary.port);
}
