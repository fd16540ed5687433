import { once } from 'node:events';
import { join, resolve } from 'node:path';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { service, startServer } from './contestants.js';
import { residentMb, SERVER_CORE, start } from './machine.js';
import { number, table, type Row } from './markdown.js';
import { inRounds, measure } from './measure.js';
import { options } from './options.js';
import { compareOnEngines, describeRows } from './report.js';

/** PostgreSQL's default buffers, 128 MB, do not hold the large store: creates would evict each other's pages. */
const SETTINGS = ['shared_buffers=1GB', 'max_wal_size=4GB'];
/** Fills a store in random order, so that its pages are as full as creates leave them. */
const FILL = `INSERT INTO plants (id, name, tag, created_by, created_at)
  SELECT random_id, 'Black alder', 'Alnus glutinosa', 'token:1', 1763700000000 FROM series
  WHERE true ON CONFLICT DO NOTHING`;
const FILLS = (plants: number) => ({
  SQLite: [
    `PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000;
    WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers LIMIT ${plants}),
      series AS (SELECT random() AS random_id FROM numbers) ${FILL}`,
    'PRAGMA wal_checkpoint(TRUNCATE)',
  ],
  PostgreSQL: [
    `WITH series AS (SELECT random(-9223372036854775808, 9223372036854775807) AS random_id
      FROM generate_series(1, ${plants})) ${FILL}`,
    'VACUUM (ANALYZE) plants',
    'CHECKPOINT',
  ],
});
/** Milliseconds between two looks at a command's memory. */
const LOOK_INTERVAL_MS = 50;

/** `npm run bench -- --growth`: the service on a large and on an empty store, with random ids. */
await compareOnEngines(['bench/RESULTS.md', 'growth'], SETTINGS, async (engine, newStore) => {
  const commands: Row[] = [];
  const fill = async (plants: number) => {
    const filled = service(engine, await newStore());
    for (const statement of FILLS(plants)[engine]) await filled.store.execute(statement);
    commands.push(await measureCommands(plants, filled.store, await newStore()));
    return filled;
  };
  // A tenth shows which memory grows with the store.
  await (await fill(options.plants / 10)).store.remove();
  const large = await fill(options.plants);
  const contestants = [
    { name: `${engine}, ${number(options.plants)} plants`, create: () => large },
    // A new store in each round, as it stays empty only once.
    { name: `${engine}, empty`, create: async () => service(engine, await newStore()) },
  ];
  const rows = await inRounds(contestants, async ({ create }) => {
    const server = await startServer(await create());
    const sample = await measure(server, { ids: 'wide' });
    await server.stop();
    return sample;
  });
  return [describeRows(rows), table(commands)];
});

/** Exports and backs up a store, and restores it to an empty one. */
async function measureCommands(
  plants: number,
  store: TemporaryStore,
  empty: TemporaryStore,
): Promise<Row> {
  const row: Record<string, string> = { plants: number(plants) };
  const run = async (title: string, { folder, url }: TemporaryStore, ...command: string[]) => {
    const began = performance.now();
    const child = start(SERVER_CORE, [options.node, resolve('dist/src/main.js'), ...command], {
      cwd: folder,
      env: { PATH: process.env.PATH, DATABASE_URL: url },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    let peakMb = 0;
    const look = () => (peakMb = Math.max(peakMb, residentMb(child.pid ?? NaN, 'VmHWM') || 0));
    const timer = setInterval(look, LOOK_INTERVAL_MS);
    const [code] = (await once(child, 'exit')) as [number];
    clearInterval(timer);
    if (code !== 0) throw new Error(`${title} ended with ${code}`);
    const seconds = (performance.now() - began) / 1_000;
    row[`${title}, s`] = number(seconds, 1);
    row[`${title}, MB`] = number(peakMb);
  };
  const [lines, backup] = ['plants.ndjson', 'backup.sqlite'].map((file) =>
    join(store.folder, file),
  );
  await run('export', store, 'export', lines ?? '');
  await run('backup', store, 'backup', backup ?? '');
  await run('migrate', empty, 'migrate');
  await run('restore', empty, 'restore', backup ?? '');
  await empty.remove();
  return row;
}
