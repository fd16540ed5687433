/** `import`: a client of the service, which needs neither its store nor its configuration. */
import { createReadStream, openSync, statSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { Option, type Command } from 'commander';
import { COMMAND } from '../config/config.js';
import { readSecret } from '../config/environment.js';
import { describeError } from '../errors/operator-message.js';
import { makeCountParser, toHttpUrl } from './arguments.js';
import { isSameFile } from './new-file.js';
import { PlantsImport, type ImportOptions, type Refused } from './plant-importer.js';
import { drawBar, onEndingSignal, Progress, toPrintable, type GlobalOptions } from './terminal.js';

interface Options extends Omit<ImportOptions, 'token'>, GlobalOptions {
  readonly token?: string;
  readonly rejects?: string;
}

const STDIN_DESCRIPTOR = 0;
/** What a header can carry as bearer token: no stricter than RFC 6750, section 2.1. */
const TOKEN = /^[\x21-\x7e]+$/;

export function addImportCommand(program: Command): void {
  program
    .command('import')
    .summary('send the plants of a file to a running plant store')
    .description(
      'Send the plants of a file to a running plant store: NDJSON, one NewPlant per line. Each line is ' +
        'sent unchanged, many at a time. A plant is sent again, with growing delays, when the ' +
        'connection breaks or the service responds 408, 429 or 5xx; any other response but 200 and 400 stops ' +
        'the import, and so does Ctrl-C once requests in flight have their responses. Importing again is safe: ' +
        'what is already stored is acknowledged, and counts as stored, but is not stored twice.',
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
    .option('--strict', 'refuse plants with fields that the service would ignore')
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

The service ignores fields that it does not know, such as a misspelt tag, and a
stored plant cannot be changed. The report counts them by name. With --strict
such plants are refused instead, with the error null, and not sent.

Examples:
  $ export PLANT_STORE_TOKEN=$(${COMMAND} token create importer)
  $ ${COMMAND} import plants.ndjson --rejects rejects.ndjson
  $ zcat plants.ndjson.gz | ${COMMAND} import - --url https://plants.example`,
    )
    .action(async (file: string, _options: Options, command: Command) => {
      const { token = readTokenVariable(program), ...options } = command.optsWithGlobals<Options>();
      // A parser of the option would show the token in its message.
      if (!TOKEN.test(token)) {
        command.error('error: no valid token: give one by --token or PLANT_STORE_TOKEN');
      }
      const input = file === '-' ? STDIN_DESCRIPTOR : file;
      if (options.rejects !== undefined && isSameFile(input, options.rejects)) {
        command.error('error: --rejects would overwrite the file to import');
      }
      const { tally } = await runImport(file, { ...options, token });
      if (tally.refused > 0) process.exitCode = 1;
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
 * Imports with progress and refused plants on stderr, and a report on stdout, also if the import stops early.
 *
 * @throws Error if the import stops early, or a file cannot be opened
 */
async function runImport(file: string, options: Options & ImportOptions): Promise<PlantsImport> {
  const { source, size } = openSource(file);
  const report = createRejectReporter(options.rejects, (line) => progress.say(line));
  const plants = new PlantsImport(options, report);
  const progress = new Progress((seconds) =>
    formatProgress(plants.tally, size, seconds, plants.sender.lastError),
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
    process.stdout.write(`${formatReport(plants, options.json)}\n`);
    // Ends by the signal, so that a loop in a shell ends too.
    if (received) process.kill(process.pid, received);
  }
  return plants;
}

/** Opens a file, with its size in bytes; 0 if that is unknown, as for a pipe. */
function openSource(file: string): { readonly source: Readable; readonly size: number } {
  if (file === '-') return { source: process.stdin, size: 0 };
  const found = statSync(file);
  if (found.isDirectory()) throw new Error(`${file} is a folder`);
  if (!found.isFIFO()) return { source: createReadStream(file), size: found.size };
  // As stdin: a file's read that waits for its writer cannot be aborted, and keeps the process.
  return { source: new Socket({ fd: openSync(file, 'r'), writable: false }), size: 0 };
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
      say(`line ${line}: ${error === null ? '' : `error ${error}: `}${toPrintable(message)}`);
    } else if (count === MAX_LISTED + 1) say(`further refused plants are only in ${file}`);
    // Synchronous: the file is whole even if the process ends now.
    if (descriptor !== undefined) writeFileSync(descriptor, `${JSON.stringify(refused)}\n`);
  };
}

function formatReport(plants: PlantsImport, json?: true): string {
  const { tally, unsent, isStopped, answeredLines, ignored } = plants;
  const { stored, refused } = tally;
  if (json) {
    const ignoredFields = Object.fromEntries(ignored);
    return JSON.stringify({ complete: !isStopped, answeredLines, stored, refused, ignoredFields });
  }
  const areStored = stored === 1 ? '1 plant is stored' : `${stored} plants are stored`;
  const advice = isStopped
    ? `; interrupted after line ${answeredLines}; importing again is safe`
    : '';
  const fields = Array.from(
    ignored,
    ([field, lines]) => `${toPrintable(field)} (${lines === 1 ? '1 line' : `${lines} lines`})`,
  );
  const warning = fields.length > 0 ? `\nignored fields: ${fields.join(', ')}` : '';
  return `${areStored} (sent ${stored + refused - unsent}, refused ${refused})${advice}${warning}`;
}

/**
 * Formats the state of an import after some seconds, in a line of 80 columns.
 *
 * @param size bytes of the whole source, for a bar; 0 if unknown, as for a pipe, which shows the bytes read
 * @param lastError why the client waits, if it does; replaces the bar, which stands still then
 */
export function formatProgress(
  { stored, refused, bytes }: PlantsImport['tally'],
  size: number,
  seconds: number,
  lastError: string | undefined,
): string {
  if (lastError !== undefined) return `${stored} stored, retrying: ${lastError}`;
  const done = size === 0 ? `${(bytes / 1e6).toFixed(1)} MB,` : drawBar(bytes, size);
  const rate = Math.round((stored + refused) / seconds);
  return `${done} ${stored} stored, ${refused} refused, ${rate}/s`;
}
