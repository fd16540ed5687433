import { SqliteStore } from '../test/support/sqlite-store.js';
import { service, startServer } from './contestants.js';
import { stepAside, useDisk } from './machine.js';
import { number, percent, table } from './markdown.js';
import { inRounds, measure, type Row } from './measure.js';
import { options } from './options.js';
import { median, publishBench } from './report.js';

/** Connections of clients that send again as soon as they have an answer. The last load follows the worst. */
const { connections: few } = options;
const LOADS = [
  { name: `${few} connections`, connections: few },
  // The warm-up is long enough for all to connect and get an answer.
  { name: '1,000 connections', connections: 1_000, warmUp: 3 },
  { name: '4,000 connections', connections: 4_000, warmUp: 3 },
  { name: `then ${few} again`, connections: few, warmUp: 0 },
];

/** `npm run bench -- --overload`: the service under more load than it can serve. */
if (options.isAtOnce) throw new Error('--at-once needs several servers');
useDisk();
stepAside();
const server = await startServer(service('this service', new SqliteStore()));
const inOrder = <Item>(loads: readonly Item[]): Item[] => [...loads];
const run = (load: (typeof LOADS)[number]) => measure(server, { ...load, isOverload: true });
const rows = await inRounds(LOADS, run, inOrder);
await server.stop();

/** Its answers to few clients are its capacity. */
const capacity = median((rows as [Row])[0], 'rate');
const columns = rows.map((row) => {
  const answered = median(row, 'rate') - median(row, 'refused');
  return {
    '': row.name,
    'sent/s': median(row, 'rate'),
    '200/s (of capacity)': `${number(answered)} (${percent(answered / capacity)})`,
    '503/s': median(row, 'refused'),
    'p99, ms': median(row, 'p99'),
    'memory, MB': median(row, 'memoryMb'),
    errors: row.samples.reduce((sum, { wrong }) => sum + wrong, 0),
  };
});
publishBench(['bench/RESULTS.md', 'overload'], ['- this service on SQLite'], table(columns));
