import { LOAD_CORE, SERVER_CORE, startFlags } from './machine.js';
import { describeRun, format, number, percent, spreadOf, table, type Spread } from './markdown.js';
import type { Row, Sample } from './measure.js';
import { options } from './options.js';

/** What a reader must know to repeat a run. @param items further items of the list */
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

/** The spread of one figure over a row's rounds. */
export function spread(row: Row, figure: keyof Sample): Spread {
  return spreadOf(row.samples.map((sample) => sample[figure]));
}

/** Taken in each round, since the machine's speed drifts. */
function ratio(row: Row, other: Row): Spread {
  return spreadOf(row.samples.map(({ rate }, i) => rate / (other.samples[i]?.rate ?? NaN)));
}

/** A table of all rows, each compared with the first. */
export function sectionOf(title: string, rows: readonly Row[]): string[] {
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
