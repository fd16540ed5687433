import { format, number } from './markdown.js';
import { MB, ratio, spread, type Aim } from './report.js';
import type { Row } from './rounds.js';

/** What `npm run bench` measures on SQLite. */
export type SqliteRows = [own: Row, stock: Row, fastify: Row, bare: Row];
/** And on PostgreSQL. */
export type PostgresRows = [own: Row, stock: Row, fastify: Row];

/** What the service is meant to reach on a major release of Node, and what it did. */
export function aimsOnSqlite([own, stock, fastify, bare]: SqliteRows, node: number): Aim[] {
  const p99 = (row: Row) => spread(row, (sample) => sample.p99);
  const resident = spread(own, (sample) => sample.resident).max / MB;
  return [
    // Node 24 cured what slows Express down on older ones, so less is left to be gained there.
    atLeast(node < 24 ? 2 : 1.4, own, stock),
    atLeast(2.5, own, fastify),
    atLeast(0.45, own, bare),
    {
      aim: `p99 no worse than that of ${stock.name}`,
      found: `${number(p99(own).median, 1)} ms against ${number(p99(stock).median, 1)} ms`,
      reached: p99(own).median <= p99(stock).median,
    },
    {
      aim: 'resident memory below 200 MB',
      found: `${number(resident, 0)} MB`,
      reached: resident < 200,
    },
  ];
}

/** The same on PostgreSQL, beside itself on SQLite. */
export function aimsOnPostgres([own, stock, fastify]: PostgresRows, sqlite: Row): Aim[] {
  return [
    atLeast(3, own, stock),
    atLeast(1.5, own, fastify),
    atLeast(0.7, own, { ...sqlite, name: `${sqlite.name} on SQLite` }),
  ];
}

/** The creates/s of a row, as a multiple of another's. */
function atLeast(least: number, row: Row, other: Row): Aim {
  const found = ratio(row, other);
  const aim = `at least ${least} × ${other.name}`;
  return { aim, found: `${format(found, 2)} ×`, reached: found.median >= least };
}
