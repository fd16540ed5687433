import { percent, table } from './markdown.js';
import type { Sample } from './measure.js';
import type { Row } from './rounds.js';
import { spreadOf, type Spread } from './statistics.js';

/** Something that is wanted, what was found, and whether that is enough. */
export interface Aim {
  readonly aim: string;
  readonly found: string;
  readonly reached: boolean;
}

export const MB = 2 ** 20;
/** A generator that is busier than this may be what limits the rate. */
const BUSY = 0.9;

/** The spread of one figure over a row's rounds. */
export function spread(row: Row, figure: (sample: Sample) => number): Spread {
  return spreadOf(row.samples.map(figure));
}

/** How many times as fast a row is as another: taken in each round, since the machine's speed drifts. */
export function ratio(row: Row, other: Row): Spread {
  return spreadOf(row.samples.map(({ rate }, i) => rate / (other.samples[i]?.rate ?? NaN)));
}

/** A Markdown table of the aims, reached or not. */
export function aimsOf(aims: readonly Aim[]): string {
  return table(
    ['Aim', 'Found', 'Reached'],
    aims.map(({ aim, found, reached }) => [aim, found, reached ? 'yes' : '**no**']),
  );
}

/** How to read the table, and whether the generator kept up. */
export function notesOn(rows: readonly Row[]): string {
  const busiest = Math.max(...rows.map((row) => spread(row, ({ loadCpu }) => loadCpu).median));
  return (
    'Medians over the rounds, with the least and the most in brackets; ratios are taken round by round. ' +
    'CPU is in shares of a core, memory the most that was resident in any round; both are sums over ' +
    'all processes. Every answer was a 200. ' +
    `The generator used at most ${percent(busiest)} of its core, so it was ` +
    (busiest < BUSY ? 'not the limit.' : '**the limit** somewhere: that rate could be higher.')
  );
}

/** Whether the load could keep a server busy that waits for nothing; if not, the run is in doubt. */
export function noteOnLoad(bare: Row): string {
  const used = spread(bare, ({ serverCpu }) => serverCpu).median;
  return (
    `Under this load ${bare.name} used ${percent(used)} of its core` +
    (used >= BUSY ? '.' : ': **too little, so the machine was not quiet, or the load too small.**')
  );
}
