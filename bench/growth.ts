import { service, startServer } from './contestants.js';
import { number } from './markdown.js';
import { inRounds, measure } from './measure.js';
import { options } from './options.js';
import { compareOnEngines } from './report.js';

/** PostgreSQL's default buffers, 128 MB, do not hold the large store: creates would evict each other's pages. */
const SETTINGS = ['shared_buffers=1GB', 'max_wal_size=4GB'];
/** Fills a store in random order, so that its pages are as full as creates leave them. */
const FILL = `INSERT INTO plants (id, name, tag, created_by, created_at)
  SELECT random_id, 'Black alder', 'Alnus glutinosa', 'token:1', 1763700000000 FROM series
  WHERE true ON CONFLICT DO NOTHING`;
const FILLS = {
  SQLite: [
    `PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000;
    WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers LIMIT ${options.plants}),
      series AS (SELECT random() AS random_id FROM numbers) ${FILL}`,
    'PRAGMA wal_checkpoint(TRUNCATE)',
  ],
  PostgreSQL: [
    `WITH series AS (SELECT random(-9223372036854775808, 9223372036854775807) AS random_id
      FROM generate_series(1, ${options.plants})) ${FILL}`,
    'VACUUM (ANALYZE) plants',
    'CHECKPOINT',
  ],
};

/** `npm run bench:growth`: the service on a large and on an empty store, with random ids. */
await compareOnEngines(['bench/RESULTS.md', 'growth'], SETTINGS, async (engine, newStore) => {
  const large = service(engine, await newStore());
  for (const statement of FILLS[engine]) await large.store.execute(statement);
  const contestants = [
    { name: `${engine}, ${number(options.plants)} plants`, create: () => large },
    // A new store in each round, as it stays empty only once.
    { name: `${engine}, empty`, create: async () => service(engine, await newStore()) },
  ];
  return inRounds(contestants, async ({ create }) => {
    const server = await startServer(await create());
    const sample = await measure(server, { ids: 'wide' });
    await server.stop();
    return sample;
  });
});
