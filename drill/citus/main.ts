import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { publish } from '../../bench/markdown.js';
import { runCli } from '../../test/support/cli.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { tally } from '../../test/support/received.js';
import { plantOf, Scenario } from '../ledger.js';
import { STEP } from '../load.js';
import { describeDrill, reportOn, Service, Stage } from '../stage.js';

const RACERS = 50;
const RACES = 100;
const IMPORTED = 100_000;
/** Milliseconds of a stopped node. */
const AWAY_MS = 4_000;
const TAKEN =
  '400 {"error":1004,"message":"the id already exists with different content, and plants cannot be changed"}';

/**
 * `npm run drill:citus`: drills the empty store on Citus (docs/clusters.md) of DATABASE_URL. NODES are names separated
 * by spaces; the shell commands NODE_STOP and NODE_START stop and start the one in $NODE.
 */
const { quick } = parseArgs({ options: { quick: { type: 'boolean', default: false } } }).values;
const { DATABASE_URL: url = '', NODES = '', NODE_STOP = '', NODE_START = '' } = process.env;
const wrong: string[] = [];
const store = new PostgresStore(url, new URL(url).pathname.slice(1));
const [citus] = await store.rows<{ version: string; shards: bigint; nodes: bigint }>(`
  SELECT extversion AS version, count(*) AS shards, count(DISTINCT nodename) AS nodes FROM citus_shards,
  pg_extension WHERE extname = 'citus' AND table_name = 'plants'::regclass GROUP BY extversion`);
if (!citus || (await store.count()) > 0) throw new Error('plants must be distributed, and empty');
const surroundings = { cwd: store.folder, env: { DATABASE_URL: url } };
const service = await Service.over(store);
await service.start();
await playIds();
await playRaces();
await playImport();
await service.end();
const names = NODES.split(' ');
const scenarios = names.map((node) => new Scenario(`a kill of ${node}`));
await killNodes(quick ? 1 : 10);
await runCli(['token', 'revoke', 'drill'], surroundings);
if (wrong.length === 0) await empty();
rmSync(store.folder, { recursive: true });

const { version, shards, nodes } = citus;
const server = `- Citus ${version}, ${shards} shards on ${nodes} workers; a node is away for ${AWAY_MS / 1_000} s`;
const played =
  `Ids were exact to both ends of int64. Of ${RACES} ids raced by ${RACERS} clients each, one content ` +
  `won; equal content was told 200 by all. ${IMPORTED.toLocaleString('en')} plants imported were exported ` +
  `byte for byte. Exports, begun as soon as a node was back, had every plant acknowledged before.`;
const report = [describeDrill(server), ...reportOn(scenarios), played];
publish(report, wrong, quick ? undefined : ['drill/RESULTS.md', 'drill citus']);

function expect(what: string, found: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(found, expected)) wrong.push(`${what}: ${JSON.stringify(found)}`);
}

function empty(): Promise<void> {
  return store.execute('TRUNCATE plants');
}

async function playIds(): Promise<void> {
  const double = 2n ** 53n;
  const near = [-double - 1n, -double, -1n, 0n, 1n, double, double + 1n, double + 2n];
  const ids = [-(2n ** 63n), ...near, 2n ** 63n - 1n];
  const client = service.client();
  const create = async (name: string) =>
    tally(await Promise.all(ids.map((id) => client.create({ id, name }))));
  for (let i = 0; i < 3; i++) {
    expect('ids and repeats', await create('oak'), { '200 {"name":"oak"}': ids.length });
    expect('conflicts', await create('elm'), { [TAKEN]: ids.length });
  }
  const found = (await store.plants()).map(({ id, name }) => `${id} ${name}`);
  const expected = ids.map((id) => `${id} oak`);
  expect('exact ids', found, expected);
  client.close();
  await empty();
}

/** Of different contents for an id one wins; with equal contents all get 200. */
async function playRaces(): Promise<void> {
  const client = service.client(RACERS);
  const race = (id: bigint, nameOf: (i: number) => string) =>
    Promise.all(Array.from({ length: RACERS }, (_, i) => client.create({ id, name: nameOf(i) })));
  for (let id = 0n; id < RACES; id++) {
    const answers = tally(await race(id, (i) => `of ${i}`));
    const winner = `200 {"name":"${(await store.plant(id))?.name}"}`;
    expect(`race ${id}`, answers, { [winner]: 1, [TAKEN]: RACERS - 1 });
    const equal = tally(await race(-id - 1n, () => 'oak'));
    expect(`equal ${id}`, equal, { '200 {"name":"oak"}': RACERS });
  }
  client.close();
  await empty();
}

async function playImport(): Promise<void> {
  const ids = Array.from({ length: IMPORTED }, (_, i) => BigInt.asIntN(64, BigInt(i) * STEP));
  const lines = ids
    .sort((a, b) => (a < b ? -1 : 1))
    .map((id) => {
      const { name, tag } = plantOf(id);
      return `{"id":${id},${JSON.stringify({ name, ...(tag !== null && { tag }) }).slice(1)}\n`;
    });
  const file = join(store.folder, 'plants.ndjson');
  writeFileSync(file, lines.join(''));
  const env = {
    PLANT_STORE_URL: `http://127.0.0.1:${service.port}`,
    PLANT_STORE_TOKEN: service.token,
  };
  expect('import', (await runCli(['import', file], { ...surroundings, env })).code, 0);
  expect('export', (await runCli(['export', `${file}.2`], surroundings)).code, 0);
  expect('the same bytes', readFileSync(`${file}.2`).equals(readFileSync(file)), true);
  await empty();
}

/** Stops nodes under load. An export after each must have every plant acknowledged before. */
async function killNodes(times: number): Promise<void> {
  const [first = new Scenario('')] = scenarios;
  const stage = await Stage.start(service, first);
  for (let i = 0; i < times * scenarios.length; i++) {
    const NODE = names[i % names.length];
    await stage.round(scenarios[i % names.length] ?? first, async () => {
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
  wrong.push(...(await stage.finish()));
}

async function shell(command: string, NODE: string | undefined): Promise<void> {
  // Its child processes may live on, and would keep a pipe open.
  const child = spawn(command, { shell: true, env: { ...process.env, NODE }, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${command}: exit ${code}, NODE=${NODE}`);
}
