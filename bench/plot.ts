import { number } from './markdown.js';
import { spread } from './report.js';
import type { Row } from './rounds.js';

const [WIDTH, LEFT, RIGHT, STEP, BAR] = [720, 250, 80, 36, 20];

const STYLE = `
  text { font: 14px system-ui, sans-serif; fill: #1f2328 }
  .bar { fill: #8c959f } .own { fill: #1a7f37 } .range { stroke: #1f2328; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .bar { fill: #6e7681 } .own { fill: #3fb950 } .range { stroke: #e6edf3 }
  }`;

/** An SVG of the rates: a bar for each row's median, a line from its least to its most. */
export function plotOf(rows: readonly Row[], title: string): string {
  const rates = rows.map((row) => ({ ...row, ...spread(row, ({ rate }) => rate) }));
  const scale = (WIDTH - LEFT - RIGHT) / Math.max(...rates.map(({ max }) => max));
  const pixels = (rate: number): number => Math.round(rate * scale);
  const bars = rates.map(({ name, median, min, max }, i) => {
    const middle = (i + 1.5) * STEP;
    const [from, to] = [pixels(min), pixels(max)];
    return `
  <text x="${LEFT - 10}" y="${middle + 5}" text-anchor="end">${name}</text>
  <rect class="${i === 0 ? 'own' : 'bar'}" x="${LEFT}" y="${middle - BAR / 2}" width="${pixels(median)}" height="${BAR}" />
  <line class="range" x1="${LEFT + from}" x2="${LEFT + to}" y1="${middle}" y2="${middle}" />
  <text x="${LEFT + to + 8}" y="${middle + 5}">${number(median, 0)}</text>`;
  });
  const height = (rows.length + 1.25) * STEP;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}">
  <style>${STYLE}
  </style>
  <text x="${LEFT}" y="20">${title}</text>${bars.join('')}
</svg>
`;
}
