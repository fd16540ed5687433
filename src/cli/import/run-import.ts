import { createReadStream, statSync } from 'node:fs';
import { PlantStoreClient } from '../../client/plant-store-client.js';
import { barOf, Progress } from '../progress.js';
import { onEndingSignal } from '../session.js';
import { Connections } from './connections.js';
import { PlantsImport } from './import-plants.js';
import { rejectReporter } from './ndjson.js';

/** What the operator chooses for an import. */
export interface ImportOptions {
  /** Base address of the service. */
  readonly url: URL;
  readonly token: string;
  /** Path of the file for refused plants. */
  readonly rejects?: string | undefined;
  /** Plants in flight at once. */
  readonly concurrency: number;
  /** Tries of one plant before the import stops. */
  readonly tries: number;
  /** Whether the summary is JSON. */
  readonly json?: true;
}

/**
 * Imports a file, or the standard input where it is `-`: progress and refused plants go to stderr, the summary
 * to stdout, also where the import stops before its end.
 *
 * @returns how many plants were stored and refused
 * @throws ImportStopped; Error where a file cannot be opened
 */
export async function runImport(file: string, options: ImportOptions): Promise<Tally> {
  const { url, token, concurrency, tries, rejects } = options;
  const size = file === '-' ? 0 : sizeOf(file);
  const report = rejectReporter(rejects, (line) => progress.say(line));
  const source = file === '-' ? process.stdin : createReadStream(file);
  const connections = new Connections(url, concurrency);
  const { fetch } = connections;
  const client = new PlantStoreClient({ baseUrl: url, token, tries, fetch });
  const plants = new PlantsImport(client, concurrency, report);
  const progress = new Progress((seconds) =>
    progressLine(plants.tally, size, seconds, plants.lastError),
  );
  await untilSignal(plants, async () => {
    try {
      await plants.run(source);
    } finally {
      progress.end();
      await connections.close();
      process.stdout.write(`${options.json ? jsonOf(plants) : summaryOf(plants)}\n`);
    }
  });
  return plants.tally;
}

type Tally = PlantsImport['tally'];

function sizeOf(file: string): number {
  const found = statSync(file);
  if (found.isDirectory()) throw new Error(`${file} is a folder`);
  return found.size;
}

/**
 * Lets the first Ctrl-C end an import in order, and a second one at once. The process then ends by the signal,
 * so that a loop of the shell ends with it.
 */
async function untilSignal(plants: PlantsImport, run: () => Promise<void>): Promise<void> {
  let received: NodeJS.Signals | undefined;
  const unlisten = onEndingSignal((signal) => {
    received = signal;
    plants.halt(new Error(`interrupted by ${signal}`));
  });
  try {
    await run();
  } finally {
    unlisten();
    if (received) process.kill(process.pid, received);
  }
}

function jsonOf({ tally: { stored, refused }, isStopped, answeredLines }: PlantsImport): string {
  return JSON.stringify({ complete: !isStopped, answeredLines, stored, refused });
}

/** What came of an import, in one line. */
function summaryOf({ tally: { stored, refused }, isStopped, answeredLines }: PlantsImport): string {
  const areStored = stored === 1 ? '1 plant is stored' : `${stored} plants are stored`;
  const advice = isStopped
    ? `; interrupted after line ${answeredLines}; importing again is safe`
    : '';
  return `${areStored} (sent ${stored + refused}, refused ${refused})${advice}`;
}

/**
 * How an import stands after some seconds, in a line of 80 columns.
 *
 * @param size bytes of the whole source, for a bar; 0 where they are unknown, as those of a pipe
 * @param lastError why the client waits, if it does: the bar, which stands still, then leaves its place to that
 */
export function progressLine(
  { stored, refused, bytes }: Tally,
  size: number,
  seconds: number,
  lastError: string | undefined,
): string {
  if (lastError !== undefined) return `${stored} stored, retrying: ${lastError}`;
  const bar = size === 0 ? '' : `${barOf(bytes, size)} `;
  const rate = Math.round((stored + refused) / seconds);
  return `${bar}${stored} stored, ${refused} refused, ${rate}/s`;
}
