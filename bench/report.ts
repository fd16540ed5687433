import { PostgresServer } from '../test/support/postgres-server.js';
import { PostgresStore } from '../test/support/postgres-store.js';
import { SqliteStore } from '../test/support/sqlite-store.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { LOAD_CORE, SERVER_CORE, startFlags, stepAside, useDisk } from './machine.js';
import {
  describeRun,
  format,
  number,
  percent,
  publish,
  spreadOf,
  table,
  type Spread,
} from './markdown.js';
import type { Row, Sample } from './measure.js';
import { options } from './options.js';

/**
 * Compares servers on each engine, and publishes the report.
 *
 * @param place the page and the name of the report on it; a quick run writes nothing
 * @param settings of PostgreSQL, `name=value` each
 */
export async function compareOnEngines(
  place: readonly [page: string, name: string],
  settings: readonly string[],
  compare: (
    engine: 'SQLite' | 'PostgreSQL',
    newStore: () => Promise<TemporaryStore>,
  ) => Promise<Row[]>,
): Promise<never> {
  useDisk();
  // Before stepAside(), so that the server may use all cores.
  const server = await PostgresServer.start(settings);
  stepAside();
  // One by one: PostgreSQL's background work would slow down servers on SQLite.
  const sqlite = await compare('SQLite', () => Promise.resolve(new SqliteStore()));
  const postgres = await compare('PostgreSQL', () => PostgresStore.create(server.url()));
  await server.remove();
  const items = settings.length > 0 ? [`- PostgreSQL with ${settings.join(' and ')}`] : [];
  const sections = [...sectionOf('SQLite', sqlite), ...sectionOf('PostgreSQL', postgres)];
  publish([describeBench(...items), ...sections], [], options.quick ? undefined : place);
}

/** Describes a run for its repetition. @param items further items of the list */
export function describeBench(...items: string[]): string {
  const { rounds, seconds, warmUp, connections, version } = options;
  return describeRun(
    version,
    `- wrk with ${connections} connections on core ${LOAD_CORE}, server on core ${SERVER_CORE}`,
    `- ${rounds} rounds, every row in each, ${seconds} s each after ${warmUp} s of warm-up: medians (least–most)`,
    `- this service as \`npm start\` runs it (${startFlags().join(' ')}), others with Node's defaults`,
    ...items,
  );
}

/** The spread of a figure over a row's rounds. */
export function spread(row: Row, figure: keyof Sample): Spread {
  return spreadOf(row.samples.map((sample) => sample[figure]));
}

/** The ratio within each round, as the machine's speed drifts. */
function ratio(row: Row, other: Row): Spread {
  return spreadOf(row.samples.map(({ rate }, i) => rate / (other.samples[i]?.rate ?? NaN)));
}

/** A table of all rows, each compared with the first. */
function sectionOf(title: string, rows: readonly Row[]): string[] {
  const [own] = rows as [Row, ...Row[]];
  const share = (figure: keyof Sample) => (row: Row) => percent(spread(row, figure).median);
  const amount = (figure: keyof Sample) => (row: Row) => number(spread(row, figure).median);
  const whole = (figure: keyof Sample, digits: number) => (row: Row) =>
    format(spread(row, figure), digits);
  const columns: [head: string, cell: (row: Row) => string][] = [
    ['', ({ name }) => name],
    ['creates/s', whole('rate', 0)],
    [`${own.name} ÷ it`, (row) => (row === own ? '' : format(ratio(own, row), 2))],
    ['p99, ms', whole('p99', 1)],
    ['CPU a create, µs', whole('cpuPerCreate', 1)],
    ['server CPU', share('serverCpu')],
    ['generator CPU', share('loadCpu')],
    ['memory, MB', amount('memoryMb')],
    ['idle, MB', amount('idleMb')],
    ['start, ms', amount('startMs')],
  ];
  const head = columns.map(([name]) => name);
  const cells = rows.map((row) => columns.map(([, cell]) => cell(row)));
  return [`### ${title}`, table(head, cells)];
}
