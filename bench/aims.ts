import { format, number } from './markdown.js';
import { MB, ratio, spread, type Aim } from './report.js';
import type { Row } from './rounds.js';

/** What `npm run bench` measures. */
export type Rows = [own: Row, stock: Row, fastify: Row, bare: Row];

/** What the service is meant to reach on a major release of Node, and what it did. */
export function aimsFor([own, stock, fastify, bare]: Rows, node: number): Aim[] {
  const p99 = (row: Row) => spread(row, (sample) => sample.p99);
  const resident = spread(own, (sample) => sample.resident).max / MB;
  const times = (least: number, other: Row): Aim => {
    const found = ratio(own, other);
    const aim = `at least ${least} × ${other.name}`;
    return { aim, found: `${format(found, 2)} ×`, reached: found.median >= least };
  };
  return [
    // Node 24 cured what slows Express down on older ones, so less is left to be gained there.
    times(node < 24 ? 2 : 1.4, stock),
    times(2.5, fastify),
    times(0.45, bare),
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
