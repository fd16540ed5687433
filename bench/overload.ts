import { SqliteStore } from '../test/support/sqlite-store.js';
import { service, startServer } from './contestants.js';
import { stepAside, useDisk } from './machine.js';
import { number, percent, publish, table } from './markdown.js';
import { inRounds, measure, type Row, type Sample } from './measure.js';
import { options } from './options.js';
import { describeBench, spread } from './report.js';

/** Of clients that send again as soon as they are answered. The last come at once after the worst. */
const { connections: few } = options;
const LOADS = [
  { name: `${few} connections`, connections: few },
  // Until all are connected, and have their first answer.
  { name: '1,000 connections', connections: 1_000, warmUp: 3 },
  { name: '4,000 connections', connections: 4_000, warmUp: 3 },
  { name: `then ${few} again`, connections: few, warmUp: 0 },
];

/** `npm run bench:overload`: what the service still does for more load than it can take. */
useDisk();
stepAside();
const server = await startServer(service('this service', new SqliteStore()));
const rows = await inRounds(
  LOADS,
  (load) => measure(server, { ...load, isOverload: true }),
  (loads) => [...loads],
);
await server.stop();

/** What it does for few clients is what it can take. */
const capacity = spread((rows as [Row])[0], 'rate').median;
const head = ['load', 'sent/s', '200/s (of capacity)', '503/s', 'p99, ms', 'memory, MB', 'errors'];
const cells = rows.map((row) => {
  const figure = (name: keyof Sample) => spread(row, name).median;
  const accepted = figure('rate') - figure('refused');
  return [
    row.name,
    number(figure('rate')),
    `${number(accepted)} (${percent(accepted / capacity)})`,
    number(figure('refused')),
    number(figure('p99')),
    number(figure('memoryMb')),
    number(row.samples.reduce((sum, { wrong }) => sum + wrong, 0)),
  ];
});
const place = options.quick ? undefined : (['bench/RESULTS.md', 'overload'] as const);
publish([describeBench('- this service on SQLite'), table(head, cells)], [], place);
