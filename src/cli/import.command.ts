import { createReadStream, openSync, statSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { Option, type Command } from 'commander';
import { isCredential, PlantStoreClient } from '../client/plant-store-client.js';
import { readSecret } from '../config/environment.js';
import { describeError } from '../errors/operator-message.js';
import { makeCountParser, toHttpUrl } from './arguments.js';
import { PlantsImport, type Refused } from './plant-importer.js';
import { isSameFile } from './new-file.js';
import { ServicePool } from './service-pool.js';
import { drawBar, onEndingSignal, Progress, toPrintable, type GlobalOptions } from './terminal.js';

interface ImportOptions {
  readonly url: URL;
  readonly token?: string;
  readonly rejects?: string;
  readonly concurrency: number;
  readonly tries: number;
}

type Tally = PlantsImport['tally'];

const STDIN_DESCRIPTOR = 0;

/** `import`: a client of the service, which needs neither its store nor its configuration. */
export function addImportCommand(program: Command): void {
  program
    .command('import')
    .summary('send the plants of a file to a running plant store')
    .description(
      'Send the plants of a file to a running plant store: NDJSON, one NewPlant per line. Each line is ' +
        'sent unchanged, many at a time. A plant is sent again, with growing delays, when the ' +
        'connection breaks or the service answers 408, 429 or 5xx; any other answer but 200 and 400 stops ' +
        'the import, and so does Ctrl-C once what is in flight is answered. Importing again is safe: what ' +
        'is already stored is acknowledged, and counts as stored, but is not stored twice.',
    )
    .argument('<file>', 'the file; - is the standard input')
    .addOption(
      new Option('--url <url>', 'base address of the service')
        .env('PLANT_STORE_URL')
        .default(new URL('http://127.0.0.1:3000'), 'http://127.0.0.1:3000')
        .argParser(toHttpUrl),
    )
    .option(
      '--token <token>',
      'bearer token; the variable keeps it out of ps (env: PLANT_STORE_TOKEN)',
    )
    .option('--rejects <file>', 'where refused plants go; overwritten')
    .option('--concurrency <n>', 'plants in flight at once, 1 to 1024', makeCountParser(1_024), 64)
    .option(
      '--tries <n>',
      'tries per plant before the import stops, 1 to 99',
      makeCountParser(99),
      10,
    )
    .addHelpText(
      'after',
      `
Refused plants are listed on stderr with their line numbers. With --rejects they
go to a file too, as NDJSON of line, error, message and plant, the text sent:
  $ jq -r .plant rejects.ndjson > again.ndjson

Examples:
  $ export PLANT_STORE_TOKEN=$(npx plant-store token create importer)
  $ npx plant-store import plants.ndjson --rejects rejects.ndjson
  $ zcat plants.ndjson.gz | npx plant-store import - --url https://plants.example`,
    )
    .action(async (file: string, options: ImportOptions) => {
      const { rejects, token = readTokenVariable(program) } = options;
      // A parser of the option would show the token in its message.
      if (!isCredential(token)) {
        program.error('error: no valid token: give one by --token or PLANT_STORE_TOKEN');
      }
      if (rejects !== undefined && isSameFile(file === '-' ? STDIN_DESCRIPTOR : file, rejects)) {
        program.error('error: --rejects would overwrite the file to import');
      }
      const { refused } = await runImport(file, token, { ...options, ...program.opts() });
      if (refused > 0) process.exitCode = 1;
    });
}

function readTokenVariable(program: Command): string {
  try {
    return readSecret('PLANT_STORE_TOKEN') ?? '';
  } catch (error) {
    return program.error(`error: ${describeError(error)}`);
  }
}

/**
 * Imports with progress and refused plants on stderr, and a summary on stdout, also if the import stops early.
 *
 * @throws Error if the import stops early, or a file cannot be opened
 */
async function runImport(
  file: string,
  token: string,
  options: ImportOptions & GlobalOptions,
): Promise<Tally> {
  const { url, concurrency, tries, rejects, json } = options;
  const size = file === '-' ? 0 : measureFile(file);
  const report = createRejectReporter(rejects, (line) => progress.say(line));
  const source = openSource(file);
  const pool = new ServicePool(url, concurrency);
  const client = new PlantStoreClient({ baseUrl: url, token, tries, fetch: pool.fetch });
  const plants = new PlantsImport(client, concurrency, report);
  const progress = new Progress((seconds) =>
    formatProgress(plants.tally, size, seconds, plants.lastError),
  );
  let received: NodeJS.Signals | undefined;
  using _listening = onEndingSignal((signal) => {
    received = signal;
    plants.halt(new Error(`interrupted by ${signal}`));
  });
  try {
    await plants.run(source);
  } finally {
    progress.end();
    await pool.close();
    process.stdout.write(`${formatSummary(plants, json)}\n`);
    // Ends by the signal, so that a loop in a shell ends too.
    if (received) process.kill(process.pid, received);
  }
  return plants.tally;
}

function measureFile(file: string): number {
  const found = statSync(file);
  if (found.isDirectory()) throw new Error(`${file} is a folder`);
  return found.size;
}

/** Opens a named pipe as stdin is: a file's read that waits for its writer cannot be aborted, and keeps the process. */
function openSource(file: string): Readable {
  if (file === '-') return process.stdin;
  if (!statSync(file).isFIFO()) return createReadStream(file);
  return new Socket({ fd: openSync(file, 'r'), writable: false });
}

/** Refused plants listed on stderr if a file has them all. */
const MAX_LISTED = 20;

/**
 * Creates a function that reports refused plants: a line each for the operator, and NDJSON of {@link Refused}
 * in a file, if given. With a file, the operator sees only the first 20.
 *
 * @throws Error at once if the file cannot be written
 */
function createRejectReporter(file: string | undefined, say: (line: string) => void) {
  const descriptor = file === undefined ? undefined : openSync(file, 'w');
  let count = 0;
  return (refused: Refused): void => {
    const { line, error, message } = refused;
    count += 1;
    if (file === undefined || count <= MAX_LISTED) {
      say(`line ${line}: error ${error}: ${toPrintable(message)}`);
    } else if (count === MAX_LISTED + 1) say(`further refused plants are only in ${file}`);
    // Synchronous: the file is whole even if the process ends now.
    if (descriptor !== undefined) writeFileSync(descriptor, `${JSON.stringify(refused)}\n`);
  };
}

function formatSummary({ tally, isStopped, answeredLines }: PlantsImport, json?: true): string {
  const { stored, refused } = tally;
  if (json) return JSON.stringify({ complete: !isStopped, answeredLines, stored, refused });
  const areStored = stored === 1 ? '1 plant is stored' : `${stored} plants are stored`;
  const advice = isStopped
    ? `; interrupted after line ${answeredLines}; importing again is safe`
    : '';
  return `${areStored} (sent ${stored + refused}, refused ${refused})${advice}`;
}

/**
 * Formats the state of an import after some seconds, in a line of 80 columns.
 *
 * @param size bytes of the whole source, for a bar; 0 if unknown, as for a pipe
 * @param lastError why the client waits, if it does; replaces the bar, which stands still then
 */
export function formatProgress(
  { stored, refused, bytes }: Tally,
  size: number,
  seconds: number,
  lastError: string | undefined,
): string {
  if (lastError !== undefined) return `${stored} stored, retrying: ${lastError}`;
  const bar = size === 0 ? '' : `${drawBar(bytes, size)} `;
  const rate = Math.round((stored + refused) / seconds);
  return `${bar}${stored} stored, ${refused} refused, ${rate}/s`;
}
