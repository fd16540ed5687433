import { setTimeout as sleep } from 'node:timers/promises';
import { useDisk } from '../../bench/machine.js';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { Proxy } from '../../test/support/proxy.js';
import { strikeGardens } from '../gardens.js';
import { Scenario } from '../ledger.js';
import { finish, quick, runParts } from '../report.js';
import { disturb, Service, Stage } from '../stage.js';
import { proveStates } from '../states.js';
import { MessageProxy } from './message-proxy.js';
import { changeStore } from './operators.js';
import { Pair, storeOf } from './pair.js';
import { restoreBackups } from './restores.js';
import { openPlace } from './states.js';
import { poisonConnections } from './toxics.js';

/** Milliseconds of a freeze, longer than any request may wait. */
const FREEZE_MS = 8_000;
/** Milliseconds of the proxy at the old primary, so that commits hang; and at a standby before its promotion. */
const [ASTRAY_MS, AHEAD_MS] = [4_000, 1_000];
/** Milliseconds of a proxy that spoils messages. */
const SPOILED_MS = 5_000;

/** `npm run drill:postgres`: kills and freezes servers under a running service, cuts connections, and fails over. */
const [kills, freezes, failovers, rounds] = quick ? [2, 1, 2, 1] : [20, 4, 6, 5];
useDisk();
// Each server ends with this process.
process.setMaxListeners(20);

const scenarios = await runParts({
  killed: () =>
    strikeServer('`kill -9` of the server', kills, async (server) => {
      await server.kill();
      await server.start();
    }),
  stopped: () =>
    strikeServer('immediate stop of the server', kills, async (server) => {
      await server.end('SIGQUIT');
      await server.start();
    }),
  frozen: () =>
    strikeServer('`SIGSTOP` of the server', freezes, async (server) => {
      server.pause();
      await sleep(FREEZE_MS);
      server.resume();
    }),
  failover: failOver,
  gardens: killBoth,
  operators: () => changeStore(rounds),
  states: () => proveStates(openPlace),
  restores: () => restoreBackups(rounds),
  messages: spoilMessages,
  toxics: poisonConnections,
});
finish(scenarios);

async function strikeServer(
  name: string,
  times: number,
  strike: (server: PostgresServer) => Promise<void>,
): Promise<Scenario[]> {
  const server = await PostgresServer.start();
  const scenarios = await disturb(new Scenario(name), times, storeOf(server), () => strike(server));
  await server.remove();
  return scenarios;
}

/** Spoils the ends of statements on their way to the service. */
async function spoilMessages(): Promise<Scenario[]> {
  const server = await PostgresServer.start();
  const { proxy, port } = await MessageProxy.start(server.port);
  const url = new URL(server.url());
  url.port = String(port);
  const store = new PostgresStore(url.href, 'postgres');
  const scenario = new Scenario('ends of statements cut, held, duplicated, truncated');
  await disturb(scenario, rounds, store, async () => {
    proxy.isFaulty = true;
    await sleep(SPOILED_MS);
    proxy.isFaulty = false;
  });
  console.log(`${proxy.spoiled} messages were spoiled`);
  await server.remove();
  await proxy.stop();
  return [scenario];
}

/** Kills the server and the service in turn. */
async function killBoth(): Promise<Scenario[]> {
  const server = await PostgresServer.start();
  const strike = async ({ service }: Stage): Promise<void> => {
    await server.kill();
    await server.start();
    await service.restart();
  };
  const name = '`kill -9` of server and service';
  const scenarios = await strikeGardens(name, rounds, storeOf(server), strike);
  await server.remove();
  return scenarios;
}

/** Failovers from a primary to its synchronous standby. Then the proxy leads to the old primary, still one, for a while. */
async function failOver(): Promise<Scenario[]> {
  const orderly = new Scenario('failover, proxy follows');
  const hasty = new Scenario('failover, proxy ahead');
  const split = new Scenario('proxy to the old primary, still one');
  const cut = new Scenario('connections cut and refused');
  const pair = await Pair.start();
  const proxy = await Proxy.start(pair.primary.port);
  const url = new URL(pair.primary.url());
  url.port = String(proxy.port);
  const service = await Service.over(new PostgresStore(url.href, 'postgres'));
  const stage = await Stage.start(service, orderly);

  for (let i = 0; i < failovers; i += 2) {
    await stage.round(cut, async () => {
      // Nothing listens there.
      proxy.pointAt(1);
      await sleep(ASTRAY_MS);
      proxy.pointAt(pair.primary.port);
    });
    await stage.round(orderly, async () => {
      // The promotion does not wait for the old primary's exit.
      const gone = pair.primary.kill();
      await pair.promote();
      proxy.pointAt(pair.primary.port);
      await gone;
    });
    await goAstray();
    await stage.round(hasty, async () => {
      proxy.pointAt(pair.other.port);
      await pair.primary.kill();
      await sleep(AHEAD_MS);
      await pair.promote();
    });
    await goAstray();
  }
  await stage.finish(storeOf(pair.primary));
  await proxy.stop();
  await pair.remove();
  return [orderly, hasty, split, cut];

  async function goAstray(): Promise<void> {
    await pair.other.start();
    await stage.round(split, async () => {
      proxy.pointAt(pair.other.port);
      await sleep(ASTRAY_MS);
      proxy.pointAt(pair.primary.port);
    });
    await pair.renew();
  }
}
