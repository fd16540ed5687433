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

/** A column of a table of rows. */
type Column = [head: string, cell: (row: Row) => string];

/** A figure's median over a row's rounds. */
export function median(head: string, figure: keyof Sample, digits = 0): Column {
  return [head, (row) => number(spread(row, figure).median, digits)];
}

/** A figure's median and range. */
export function range(head: string, figure: keyof Sample, digits: number): Column {
  return [head, (row) => format(spread(row, figure), digits)];
}

/** The first row divided by each other, within each round, as the machine's speed drifts. */
export function ratio([own]: readonly Row[], figure: keyof Sample = 'rate'): Column {
  const cell = (row: Row): string => {
    if (!own || row === own) return '';
    const others = row.samples.map((sample) => sample[figure]);
    const ratios = own.samples.map((sample, i) => sample[figure] / (others[i] ?? NaN));
    return format(spreadOf(ratios), 2);
  };
  return [`${own?.name} ÷ it`, cell];
}

/** A table of rows by name. */
export function tableOf(rows: readonly Row[], columns: readonly Column[]): string {
  const all: Column[] = [['', ({ name }) => name], ...columns];
  const head = all.map(([name]) => name);
  return table(
    head,
    rows.map((row) => all.map(([, cell]) => cell(row))),
  );
}

function sectionOf(title: string, rows: readonly Row[]): string[] {
  const share = (head: string, figure: keyof Sample): Column => [
    head,
    (row) => percent(spread(row, figure).median),
  ];
  const columns = [
    range('creates/s', 'rate', 0),
    ratio(rows),
    range('p99, ms', 'p99', 1),
    range('CPU a create, µs', 'cpuPerCreate', 1),
    share('server CPU', 'serverCpu'),
    share('generator CPU', 'loadCpu'),
    median('memory, MB', 'memoryMb'),
    median('idle, MB', 'idleMb'),
    median('start, ms', 'startMs'),
  ];
  return [`### ${title}`, tableOf(rows, columns)];
}
