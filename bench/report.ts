import { CORES, describePostgres, startFlags } from './machine.js';
import { describeRun, format, number, percent, spreadOf, table, type Spread } from './markdown.js';
import { generator, type Row, type Sample } from './measure.js';
import { options } from './options.js';

/** Something that is wanted, what was found, and whether that is enough. */
export type Aim = readonly [aim: string, found: string, isReached: boolean];

/** A generator that is busier than this may be what limits the rate. */
const BUSY = 0.9;

/** Which core does what. */
export const PLACES = CORES
  ? `server on core ${CORES.server}, load on core ${CORES.load}`
  : 'server and load on the same cores';

/** What a reader must know to repeat a run. @param settings PostgreSQL's, `name=value` each */
export function describeBench(script: string, ...settings: string[]): string {
  const { rounds, seconds, warmUp, connections, version } = options;
  return describeRun(
    script,
    version,
    `- ${generator()}, ${connections} connections, ${PLACES}`,
    `- ${describePostgres()} on all cores, with ${[...settings, 'its default settings'].join(', ')}`,
    `- ${rounds} rounds, every contestant in each, ${seconds} s each after ${warmUp} s of warm-up`,
    `- this service as \`npm start\` runs it (Node's flags: ${startFlags().join(' ')}), the others with Node's defaults`,
  );
}

/** The spread of one figure over a row's rounds. */
export function spread(row: Row, figure: keyof Sample): Spread {
  return spreadOf(row.samples.map((sample) => sample[figure] ?? NaN));
}

/** That the service makes at least so many times the creates/s of another row. */
export function atLeast(least: number, own: Row, other: Row): Aim {
  const found = ratio(own, other);
  return [`at least ${least} × ${other.name}`, `${format(found, 2)} ×`, found.median >= least];
}

/** Taken in each round, since the machine's speed drifts. */
function ratio(row: Row, other: Row): Spread {
  return spreadOf(row.samples.map(({ rate }, i) => rate / (other.samples[i]?.rate ?? NaN)));
}

/** A picture, a table of all rows, each compared with the first, how to read it, and the aims. */
export function sectionOf(title: string, rows: readonly Row[], aims: readonly Aim[]): string[] {
  const picture = [
    ...['```mermaid', 'xychart-beta horizontal'],
    `  x-axis [${rows.map(({ name }) => `"${name}"`).join(', ')}]`,
    '  y-axis "creates a second"',
    `  bar [${rows.map((row) => Math.round(spread(row, 'rate').median)).join(', ')}]`,
    '```',
  ];
  const reached = aims.map(([aim, found, isReached]) => [aim, found, isReached ? 'yes' : '**no**']);
  const aimTable = table(['Aim', 'Found', 'Reached'], reached);
  return [`### ${title}`, picture.join('\n'), tableOf(rows), notesOn(rows), aimTable];
}

/** What a column says of a row. */
type Column = readonly [head: string, cell: (row: Row) => string];

function tableOf(rows: readonly Row[]): string {
  const [own] = rows as [Row];
  const share = (figure: keyof Sample) => (row: Row) => percent(spread(row, figure).median);
  const amount = (figure: keyof Sample) => (row: Row) => number(spread(row, figure).median);
  const whole = (figure: keyof Sample, digits: number) => (row: Row) =>
    format(spread(row, figure), digits);
  const isOnPostgres = own.samples[0]?.databaseCpuPerCreate !== undefined;
  const columns: Column[] = [
    ['', ({ name }) => name],
    ['creates/s', whole('rate', 0)],
    [`${own.name} ÷ it`, (row) => (row === own ? '' : format(ratio(own, row), 2))],
    ['p99, ms', whole('p99', 1)],
    ['CPU a create, µs', whole('cpuPerCreate', 1)],
    ...(isOnPostgres ? [['PostgreSQL’s, µs', amount('databaseCpuPerCreate')] as const] : []),
    ['server CPU', share('serverCpu')],
    ['generator CPU', share('loadCpu')],
    ['memory, MB', (row) => number(spread(row, 'memoryMb').max)],
    ['idle, MB', amount('idleMb')],
    ['start, ms', amount('startMs')],
  ];
  const cells = rows.map((row) => columns.map(([, cell]) => cell(row)));
  return table(
    columns.map(([head]) => head),
    cells,
  );
}

/** How to read the table, and whether generator and load were enough. */
function notesOn(rows: readonly Row[]): string {
  const most = (figure: keyof Sample) => Math.max(...rows.map((row) => spread(row, figure).median));
  const [busiest, used] = [most('loadCpu'), most('serverCpu')];
  return (
    'Medians over the rounds, with the least and the most in brackets; ratios are taken round by ' +
    'round. Server and generator CPU are shares of a core; memory is the most that was resident, ' +
    `idle what was when the server listened. Every answer was a 200. The generator used at most ` +
    `${percent(busiest)} of its core, so it was ` +
    (busiest < BUSY ? 'not the limit.' : '**the limit** somewhere: that rate could be higher.') +
    ` The busiest server used ${percent(used)} of its core` +
    (used >= BUSY ? '.' : ': **too little, so the machine was not quiet, or the load too small.**')
  );
}
