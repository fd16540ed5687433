import { writeFileSync } from 'node:fs';
import { number } from './markdown.js';
import { median, type Figure, type Row } from './measure.js';

const WIDTH = 720;
const BAR = { height: 18, gap: 8, left: 200, right: 70 };
/** Pixels above the bars of a chart: its title. */
const TITLE = 34;

/** Colours of a page on GitHub, light and dark. */
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .bar { fill: #8c959f }
  .own { fill: #1a7f37 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .bar { fill: #6e7681 }
    .own { fill: #3fb950 }
  }`;

/** Draws bars of creates a second, and of the CPU time of a create, of each server. The first row is this service. */
export function writePicture(file: string, rows: readonly Row[]): void {
  const charts = [
    drawChart('creates a second (more is better)', rows, 'rate', 0),
    drawChart('CPU time of a create, µs (less is better)', rows, 'cpuPerCreate', 1),
  ];
  const height = TITLE + rows.length * (BAR.height + BAR.gap);
  const parts = charts.map((chart, i) => `<g transform="translate(0 ${i * height})">${chart}</g>`);
  writeFileSync(
    file,
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${2 * height}" width="${WIDTH}">` +
      `<style>${STYLE}\n</style>${parts.join('')}</svg>\n`,
  );
}

function drawChart(title: string, rows: readonly Row[], figure: Figure, digits: number) {
  const values = rows.map((row) => median(row, figure));
  const scale = (WIDTH - BAR.left - BAR.right) / Math.max(...values);
  const bars = rows.map(({ name }, i) => {
    const y = TITLE + i * (BAR.height + BAR.gap);
    const width = ((values[i] ?? 0) * scale).toFixed(1);
    const text = y + 13;
    return (
      `<text x="${BAR.left - 8}" y="${text}" text-anchor="end">${name}</text>` +
      `<rect class="${i === 0 ? 'own' : 'bar'}" x="${BAR.left}" y="${y}" width="${width}" height="${BAR.height}" rx="3"/>` +
      `<text x="${BAR.left + Number(width) + 6}" y="${text}">${number(values[i] ?? 0, digits)}</text>`
    );
  });
  return `<text class="title" x="0" y="20">${title}</text>${bars.join('')}`;
}
