import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { runCli } from '../../test/support/cli.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { tally } from '../../test/support/received.js';
import { Scenario } from '../ledger.js';
import { contentOf, STEP } from '../plants.js';
import { publishReport, quick } from '../report.js';
import { Service, Stage } from '../stage.js';

const RACERS = 50;
const RACES = 100;
/** Milliseconds of a stopped node. */
const AWAY_MS = 4_000;
const TAKEN =
  '400 {"error":1004,"message":"the id already exists with different content, and plants cannot be changed"}';

/**
 * `npm run drill:citus`: drills the empty store on Citus (docs/clusters.md) of DATABASE_URL. NODES are names separated
 * by spaces; the shell commands NODE_STOP and NODE_START stop and start the one in $NODE.
 */
const { DATABASE_URL: url = '', NODES = '', NODE_STOP = '', NODE_START = '' } = process.env;
const start = new Scenario('the start');
const store = new PostgresStore(url, new URL(url).pathname.slice(1));
const [citus] = await store.rows<{ version: string; shards: bigint; nodes: bigint }>(`
  SELECT extversion AS version, count(*) AS shards, count(DISTINCT nodename) AS nodes FROM citus_shards,
  pg_extension WHERE extname = 'citus' AND table_name = 'plants'::regclass GROUP BY extversion`);
if (!citus || (await store.count()) > 0) throw new Error('plants must be distributed, and empty');
const surroundings = { cwd: store.folder, env: { DATABASE_URL: url } };
const service = await Service.over(store);
await service.start();
await race();
await service.end();
const scenarios = new Map(
  NODES.split(' ').map((node) => [node, new Scenario(`a kill of ${node}`)]),
);
await killNodes(quick ? 1 : 10);
await exportAll();
await runCli(['token', 'revoke', 'drill'], surroundings);
const isFine = [start, ...scenarios.values()].every(({ wrong }) => wrong.length === 0);
if (isFine) await store.execute('TRUNCATE plants');
rmSync(store.folder, { recursive: true });

const { version, shards, nodes } = citus;
const server = `- Citus ${version}, ${shards} shards on ${nodes} workers; a node is away for ${AWAY_MS / 1_000} s`;
const played =
  `Ids were exact to both ends of int64. Of ${RACES} ids raced by ${RACERS} clients each, one content ` +
  `won; equal content got a 200 from all. Exports, begun as soon as a node was back, had every plant ` +
  `acknowledged before, the last one all plants byte for byte.`;
publishReport('drill citus', [server], start.wrong, [...scenarios.values()], played);

function expect(what: string, found: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(found, expected)) start.learn(`${what}: ${JSON.stringify(found)}`);
}

/** Of different contents for an id one wins; equal contents all get 200, at once and later. Ids are exact. */
async function race(): Promise<void> {
  const client = service.client(RACERS);
  const create = async (id: bigint, nameOf: (i: number) => string) => {
    const all = Array.from({ length: RACERS }, (_, i) => client.create({ id, name: nameOf(i) }));
    return tally(await Promise.all(all));
  };
  const [end, double] = [2n ** 63n - 1n, 2n ** 53n];
  const ids = [0n, end, double - 1n, double, double + 1n];
  while (ids.length < RACES) ids.push(BigInt.asUintN(63, BigInt(ids.length) * STEP));
  for (const id of ids) {
    const raced = await create(id, (i) => `of ${i}`);
    const name = (await store.plant(id))?.name ?? '';
    const stored = `200 {"name":"${name}"}`;
    expect(`race ${id}`, raced, { [stored]: 1, [TAKEN]: RACERS - 1 });
    expect(`again ${id}`, await create(id, () => name), { [stored]: RACERS });
    // Of negative ids, with the other end of int64, all contents are equal.
    expect(`equal ${~id}`, await create(~id, () => 'oak'), { '200 {"name":"oak"}': RACERS });
  }
  const found = new Set((await store.plants()).map(({ id }) => id));
  const missing = [...ids, ...ids.map((id) => ~id)].filter((id) => !found.has(id)).map(String);
  expect('exact ids', { missing, stored: found.size }, { missing: [], stored: 2 * RACES });
  client.close();
  await store.execute('TRUNCATE plants');
}

/** An export has all plants in the order of their ids, whichever node they are on. */
async function exportAll(): Promise<void> {
  const { stdout } = await runCli(['export'], surroundings);
  const lines = (await store.plants()).map(
    ({ id }) => `{"id":${id},${JSON.stringify(contentOf(id)).slice(1)}\n`,
  );
  expect('the export is byte for byte as expected', stdout === lines.join(''), true);
}

/** Stops nodes under load. An export after each must have every plant acknowledged before. */
async function killNodes(times: number): Promise<void> {
  const stage = await Stage.start(service, start);
  for (let i = 0; i < times; i++) {
    for (const [NODE, scenario] of scenarios) {
      await stage.round(scenario, async () => {
        await shell(NODE_STOP, NODE);
        await sleep(AWAY_MS);
        await shell(NODE_START, NODE);
        const ids = [...stage.ledger.acknowledged.keys()];
        const { stdout, stderr } = await runCli(['export'], surroundings);
        const found = new Set(stdout.match(/^\{"id":-?\d+/gm));
        const missing = ids.filter((id) => !found.has(`{"id":${id}`)).length;
        expect(`${NODE}: plants that an export lacks ${stderr}`, missing, 0);
      });
    }
  }
  await stage.finish();
}

async function shell(command: string, NODE: string): Promise<void> {
  // Its child processes may live on, and would keep a pipe open.
  const child = spawn(command, { shell: true, env: { ...process.env, NODE }, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${command}: exit ${code}, NODE=${NODE}`);
}
