import { PostgresServer } from '../test/support/postgres-server.js';
import { PostgresStore } from '../test/support/postgres-store.js';
import { SqliteStore } from '../test/support/sqlite-store.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { service, startServer } from './contestants.js';
import { stepAside, useDisk } from './machine.js';
import { number, publish } from './markdown.js';
import { inRounds, measure } from './measure.js';
import { options } from './options.js';
import { describeBench, sectionOf } from './report.js';

/**
 * PostgreSQL's default buffers, 128 MB, do not hold the large store: creates would put pages out for
 * one another, which says nothing of the service.
 */
const SETTINGS = ['shared_buffers=1GB', 'max_wal_size=4GB'];
/** How a store is filled in no order, so that its pages are as full as creates leave them. */
const FILL = `INSERT INTO plants (id, name, tag, created_by, created_at)
  SELECT random_id, 'Black alder', 'Alnus glutinosa', 'token:1', 1763700000000 FROM series
  WHERE true ON CONFLICT DO NOTHING`;
const FILL_SQLITE = [
  `PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000;
  WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers LIMIT ${options.plants}),
    series AS (SELECT random() AS random_id FROM numbers) ${FILL}`,
  'PRAGMA wal_checkpoint(TRUNCATE)',
];
const FILL_POSTGRES = [
  `WITH series AS (SELECT random(-9223372036854775808, 9223372036854775807) AS random_id
    FROM generate_series(1, ${options.plants})) ${FILL}`,
  'VACUUM (ANALYZE) plants',
  'CHECKPOINT',
];

/** `npm run bench:growth`: the service over a large store and over an empty one, with random ids. */
useDisk();
const postgres = await PostgresServer.start(SETTINGS);
stepAside();
const sections = [
  ...(await compare('SQLite', () => Promise.resolve(new SqliteStore()), FILL_SQLITE)),
  ...(await compare('PostgreSQL', () => PostgresStore.create(postgres.url()), FILL_POSTGRES)),
];
await postgres.remove();
const report = [describeBench(`- PostgreSQL with ${SETTINGS.join(' and ')}`), ...sections];
publish(report, [], options.quick ? undefined : ['bench/RESULTS.md', 'growth']);

async function compare(
  engine: string,
  newStore: () => Promise<TemporaryStore>,
  fill: readonly string[],
): Promise<string[]> {
  const large = service(engine, await newStore());
  for (const statement of fill) await large.store.execute(statement);
  const contestants = [
    { name: `${engine}, ${number(options.plants)} plants`, create: () => large },
    // Each round makes the store again, since an empty store is empty only once.
    { name: `${engine}, empty`, create: async () => service(engine, await newStore()) },
  ];
  const rows = await inRounds(contestants, async ({ create }) => {
    const server = await startServer(await create());
    const sample = await measure(server, { ids: 'wide' });
    await server.stop();
    return sample;
  });
  return sectionOf(engine, rows);
}
