import { PostgresServer } from '../test/support/postgres-server.js';
import { PostgresStore } from '../test/support/postgres-store.js';
import { SqliteStore } from '../test/support/sqlite-store.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { readStartFlags } from '../test/support/start-flags.js';
import { LOAD_CORE, SERVER_CORE, stepAside, useDisk } from './machine.js';
import { describeRun, medianOf, percent, publish, rangeOf, table } from './markdown.js';
import type { Row, Sample } from './measure.js';
import { options } from './options.js';

/**
 * Compares servers on each engine, and publishes the report.
 *
 * @param place the page and the name of the report on it
 * @param settings of PostgreSQL, `name=value` each
 * @param compare returns the tables of an engine
 */
export async function compareOnEngines(
  place: readonly [page: string, name: string],
  settings: readonly string[],
  compare: (
    engine: 'SQLite' | 'PostgreSQL',
    newStore: () => Promise<TemporaryStore>,
  ) => Promise<readonly string[]>,
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
  publishBench(place, items, '### SQLite', ...sqlite, '### PostgreSQL', ...postgres);
}

/** Publishes a report under a description of the run. @param items further items of that */
export function publishBench(
  place: readonly [page: string, name: string],
  items: readonly string[],
  ...sections: string[]
): never {
  const { rounds, seconds, warmUp, connections, version, quick, isAtOnce } = options;
  const description = describeRun(
    version,
    `- wrk with ${connections} connections on core ${LOAD_CORE}, server on core ${SERVER_CORE}`,
    `- ${rounds} rounds, every row in each${isAtOnce ? ' at once' : ''}, ${seconds} s each after ${warmUp} s of warm-up: medians (least–most)`,
    `- this service as \`npm start\` runs it (${readStartFlags().join(' ')}), others with Node's defaults`,
    ...items,
  );
  publish([description, ...sections], [], place, quick || isAtOnce);
}

/** A figure's median over a row's rounds. */
export function median({ samples }: Row, figure: keyof Sample): number {
  return medianOf(samples.map((sample) => sample[figure]));
}

/** A figure's median and range. */
export function range({ samples }: Row, figure: keyof Sample, digits: number): string {
  return rangeOf(
    samples.map((sample) => sample[figure]),
    digits,
  );
}

/** A column of the first row divided by each, within each round, as the machine's speed drifts. */
export function ratio([own]: readonly Row[], row: Row, figure: keyof Sample = 'rate') {
  const others = row.samples.map((sample) => sample[figure]);
  const ratios = own?.samples.map((sample, i) => sample[figure] / (others[i] ?? NaN)) ?? [];
  return { [`${own?.name} ÷ it`]: row === own ? '' : rangeOf(ratios, 2) };
}

/** The table of what clients and operators see. */
export function describeRows(rows: readonly Row[]): string {
  const columns = rows.map((row) => ({
    '': row.name,
    'creates/s': range(row, 'rate', 0),
    ...ratio(rows, row),
    'p99, ms': range(row, 'p99', 1),
    'CPU a create, µs': range(row, 'cpuPerCreate', 1),
    'server CPU': percent(median(row, 'serverCpu')),
    'generator CPU': percent(median(row, 'loadCpu')),
    'memory, MB': median(row, 'memoryMb'),
    'idle, MB': median(row, 'idleMb'),
    'start, ms': median(row, 'startMs'),
  }));
  return table(columns);
}
