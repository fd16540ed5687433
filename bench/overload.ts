import { SqliteStore } from '../test/support/sqlite-store.js';
import { service, startServer } from './contestants.js';
import { stepAside, useDisk } from './machine.js';
import { number, percent, publish } from './markdown.js';
import { inRounds, measure, type Row } from './measure.js';
import { options } from './options.js';
import { describeBench, median, spread, tableOf } from './report.js';

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
const accepted = (row: Row): string => {
  const answered = spread(row, 'rate').median - spread(row, 'refused').median;
  return `${number(answered)} (${percent(answered / capacity)})`;
};
const report = tableOf(rows, [
  median('sent/s', 'rate'),
  ['200/s (of capacity)', accepted],
  median('503/s', 'refused'),
  median('p99, ms', 'p99'),
  median('memory, MB', 'memoryMb'),
  ['errors', ({ samples }) => number(samples.reduce((sum, { wrong }) => sum + wrong, 0))],
]);
const place = options.quick ? undefined : (['bench/RESULTS.md', 'overload'] as const);
publish([describeBench('- this service on SQLite'), report], [], place);
