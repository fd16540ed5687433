import { format, number, percent, table } from './markdown.js';
import { MB, ratio, spread } from './report.js';
import type { Row } from './rounds.js';

/** What a column says of a row. */
type Column = readonly [head: string, cell: (row: Row) => string];

/** A Markdown table of all rows, each compared with the first. */
export function tableOf(rows: readonly [Row, ...Row[]]): string {
  const columns = columnsFor(rows[0]);
  return table(
    columns.map(([head]) => head),
    rows.map((row) => columns.map(([, cell]) => cell(row))),
  );
}

function columnsFor(own: Row): Column[] {
  const database: Column = [
    'PostgreSQL CPU',
    (row) => percent(spread(row, ({ databaseCpu }) => databaseCpu ?? 0).median),
  ];
  return [
    ['', ({ name }) => name],
    ['creates/s', (row) => formatted(row, 'rate', 0)],
    [`${own.name} ÷ it`, (row) => (row === own ? '' : format(ratio(own, row), 2))],
    ['p99, ms', (row) => formatted(row, 'p99', 1)],
    ['server CPU', (row) => percent(spread(row, ({ serverCpu }) => serverCpu).median)],
    ...(own.samples[0]?.databaseCpu === undefined ? [] : [database]),
    ['generator CPU', (row) => percent(spread(row, ({ loadCpu }) => loadCpu).median)],
    ['memory, MB', (row) => number(spread(row, ({ resident }) => resident).max / MB, 0)],
  ];
}

function formatted(row: Row, figure: 'rate' | 'p99', digits: number): string {
  return format(
    spread(row, (sample) => sample[figure]),
    digits,
  );
}
