import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { Scenario } from '../ledger.js';
import { finish, quick } from '../report.js';
import { runOn, Service, Stage } from '../stage.js';

/** Milliseconds of a stopped node. */
const AWAY_MS = 4_000;

/**
 * `npm run drill:citus`: drills the empty store on Citus (docs/clusters.md) of DATABASE_URL. NODES are names separated
 * by spaces; the shell commands NODE_STOP and NODE_START stop and start the one in $NODE.
 */
const { DATABASE_URL: url, NODES = '', NODE_STOP = '', NODE_START = '' } = process.env;
if (!url)
  throw new Error('set DATABASE_URL to the store on Citus, and NODES, NODE_STOP, NODE_START');
const store = new PostgresStore(url, new URL(url).pathname.slice(1));
const shards = await store.rows("SELECT FROM citus_shards WHERE table_name = 'plants'::regclass");
if (shards.length === 0 || (await store.count()) > 0)
  throw new Error('plants must be distributed, and empty');
const nodes = NODES.split(' ');
const scenarios = nodes.map((node) => new Scenario(`a kill of ${node}`));
const stage = await Stage.start(await Service.over(store), scenarios[0] ?? new Scenario(''));
for (let i = 0; i < (quick ? 1 : 10); i++) {
  for (const [n, scenario] of scenarios.entries()) {
    await stage.round(scenario, () => strike(nodes[n] ?? '', scenario));
  }
}
await stage.finish();
await runOn(store, 'token', 'revoke', 'drill');
if (scenarios.every(({ wrong }) => wrong.length === 0)) await store.execute('TRUNCATE plants');
rmSync(store.folder, { recursive: true });
finish(scenarios, [`${shards.length} shards; a node is away for ${AWAY_MS / 1_000} s`]);

/** Stops a node, and starts it again. An export after that must fit the history, with ids in order. */
async function strike(node: string, scenario: Scenario): Promise<void> {
  await shell(NODE_STOP, node);
  await sleep(AWAY_MS);
  await shell(NODE_START, node);
  const call = process.hrtime.bigint();
  const exported = await runOn(store, 'export');
  const plants = Array.from(exported.matchAll(/^\{"id":(-?\d+),(.*)$/gm), ([, id = '', rest]) => {
    const { name, tag = null } = JSON.parse(`{${rest}`) as { name: string; tag?: string };
    return { id: BigInt(id), name, tag };
  });
  stage.ledger.history.read(plants, call);
  const isSorted = plants.every(({ id }, i) => i === 0 || id > (plants[i - 1]?.id ?? id));
  if (!isSorted) scenario.learn('an export is not in the order of ids');
}

async function shell(command: string, NODE: string): Promise<void> {
  // Its child processes may live on, and would keep a pipe open.
  const child = spawn(command, { shell: true, env: { ...process.env, NODE }, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${command}: exit ${code}, NODE=${NODE}`);
}
