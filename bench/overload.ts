import { SqliteStore } from '../test/support/sqlite-store.js';
import { service, startServer } from './contestants.js';
import { stepAside, useDisk } from './machine.js';
import { number, percent, publish, table } from './markdown.js';
import { inRounds, measure, type Row, type Sample } from './measure.js';
import { options } from './options.js';
import { describeBench, spread } from './report.js';

/** Connections of clients that send again as soon as they have an answer. The last load follows the worst. */
const { connections: few } = options;
const LOADS = [
  { name: `${few} connections`, connections: few },
  // The warm-up is long enough for all to connect and get an answer.
  { name: '1,000 connections', connections: 1_000, warmUp: 3 },
  { name: '4,000 connections', connections: 4_000, warmUp: 3 },
  { name: `then ${few} again`, connections: few, warmUp: 0 },
];

/** `npm run bench:overload`: the service under more load than it can serve. */
useDisk();
stepAside();
const server = await startServer(service('this service', new SqliteStore()));
const inOrder = <Item>(loads: readonly Item[]): Item[] => [...loads];
const run = (load: (typeof LOADS)[number]) => measure(server, { ...load, isOverload: true });
const rows = await inRounds(LOADS, run, inOrder);
await server.stop();

/** Its answers to few clients are its capacity. */
const capacity = spread((rows as [Row])[0], 'rate').median;
const head = ['load', 'sent/s', '200/s (of capacity)', '503/s', 'p99, ms', 'memory, MB', 'errors'];
const cells = rows.map((row) => {
  const figure = (name: keyof Sample) => spread(row, name).median;
  const accepted = figure('rate') - figure('refused');
  const errors = row.samples.reduce((sum, { wrong }) => sum + wrong, 0);
  const share = `${number(accepted)} (${percent(accepted / capacity)})`;
  const others = [figure('refused'), figure('p99'), figure('memoryMb'), errors];
  return [row.name, number(figure('rate')), share, ...others.map((other) => number(other))];
});
const place = options.quick ? undefined : (['bench/RESULTS.md', 'overload'] as const);
publish([describeBench('- this service on SQLite'), table(head, cells)], [], place);
