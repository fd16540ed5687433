/** `import`: a client of the service, which does not need its store. plant-importer.ts does the work. */
import { createReadStream, fstatSync, openSync, statSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { Option, type Command } from 'commander';
import { COMMAND, formatUrl, type Config } from '../config/config.js';
import { readConfig, readSecret } from '../config/environment.js';
import { baseUrl } from '../config/parsers.js';
import { withFileName } from '../errors/operator-message.js';
import { escapeControls } from '../errors/redact.js';
import { toArgument } from './arguments.js';
import { findOutput, openOutput } from './output-path.js';
import type { ImportOptions, PlantImporter, Refused } from './plant-importer.js';
import { onEndingSignal, printOnTerminal, printResult, showProgress } from './terminal.js';

interface Options {
  readonly url?: string;
  readonly token?: string;
  readonly strict?: true;
  readonly rejects?: string;
}

export function addImportCommand(program: Command): void {
  program
    .command('import')
    .description('send the plants of a file to a running plant store; importing again is safe')
    .argument('<file>', 'NDJSON, one NewPlant per line; - is the standard input')
    .addOption(
      new Option('--url <url>', 'base address; default: where the service listens')
        .env('PLANT_STORE_URL')
        .argParser(toArgument(baseUrl)),
    )
    .option(
      '--token <token>',
      'bearer token, which ps shows (env: PLANT_STORE_TOKEN or PLANT_STORE_TOKEN_FILE)',
    )
    .option(
      '--rejects <file>',
      'where refused plants go: NDJSON of line, error, message, plant; overwritten',
    )
    .option('--strict', 'refuse plants with fields that the service ignores; else they are counted')
    .addHelpText(
      'after',
      `
A plant is sent up to 20 times: again after a broken connection, 408, 429 and
5xx. Any response but a 200 with the plant and a 400 ends the import; Ctrl-C
does, after those on their way.

Examples:
  $ export PLANT_STORE_TOKEN=$(${COMMAND} token create importer)
  $ zcat plants.ndjson.gz | ${COMMAND} import - --rejects rejects.ndjson
  $ jq -r .plant rejects.ndjson | ${COMMAND} import -`,
    )
    .action(async (file: string, options: Options, command: Command) => {
      const token = options.token ?? readSecret('PLANT_STORE_TOKEN');
      if (!token) command.error('error: no token: give one by --token or PLANT_STORE_TOKEN');
      const input = file === '-' ? '/dev/stdin' : file;
      if (options.rejects !== undefined && isOverwritten(input, options.rejects))
        command.error('error: --rejects would overwrite the file to import');
      const url = options.url === undefined ? findService(readConfig()) : new URL(options.url);
      await runImport(command, file, { ...options, url, token });
    });
}

/** Whether two paths lead to the same existing file. */
function isOverwritten(input: string, output: string): boolean {
  const paths = [input, withFileName(output, () => findOutput(output).path)];
  const [one, other] = paths.map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}

function openSource(file: string): Readable {
  if (file === '-') return process.stdin;
  const fd = openSync(file, 'r');
  const found = fstatSync(fd);
  if (found.isDirectory()) throw new Error(`${file} is a folder`);
  // A file's read that waits for the writer of a pipe cannot be aborted.
  return found.isFIFO() ? new Socket({ fd, writable: false }) : createReadStream(file, { fd });
}

/** Where the service listens; with TLS its public address, which its certificate is for. */
function findService({ scheme, publicUrl, host, port }: Config): URL {
  if (scheme === 'https' && publicUrl !== undefined) return new URL(publicUrl);
  return new URL(formatUrl(scheme, host, port));
}

/** Imports with progress and refused plants on stderr, and a report on stdout, also if the import stops early. */
async function runImport(
  command: Command,
  file: string,
  options: ImportOptions & Pick<Options, 'rejects'>,
): Promise<void> {
  // A file that cannot be opened is reported alone.
  const source = openSource(file);
  // A pipe that nobody reads would keep the process alive.
  using _source = { [Symbol.dispose]: () => void source.destroy() };
  printOnTerminal(`service: ${options.url.href}`);
  const { PlantImporter } = await import('./plant-importer.js');
  const { rejects } = options;
  const onRefused = rejects === undefined ? printRefused : openRejects(rejects);
  // On a terminal the progress tells of retries.
  let isToldOfRetries = process.stderr.isTTY;
  const plants = new PlantImporter(options, onRefused, (reason) => {
    if (!isToldOfRetries) process.stderr.write(`retrying ${reason}\n`);
    isToldOfRetries = true;
  });
  let received: NodeJS.Signals | undefined;
  using _listening = onEndingSignal((signal) => {
    received = signal;
    plants.stopping.abort(new Error(`interrupted by ${signal}`));
  });
  using _progress = showProgress(() => {
    const { counts, lastError } = plants;
    const waiting = lastError === undefined ? '' : `, retrying ${lastError}`;
    return `${counts.stored} stored, ${counts.refused} refused${waiting}`;
  });

  const failure = await plants.run(source);
  await printReport(command, plants, failure === undefined);
  // Ends by the signal, so that a loop in a shell ends too.
  if (received) process.kill(process.pid, received);
  if (failure) throw failure;
  // A pipeline's first command may have failed.
  if (file === '-' && plants.counts.answeredLines === 0)
    throw new Error('the standard input has no plants');
  if (plants.counts.refused + plants.counts.notSent > 0) process.exitCode = 1;
}

function printRefused({ line, error, message }: Refused): void {
  const prefix = error === null ? '' : `error ${error}: `;
  process.stderr.write(`line ${line}: ${prefix}${escapeControls(message)}\n`);
}

function openRejects(file: string): typeof printRefused {
  const fd = withFileName(file, () => openOutput(file));
  // It writes synchronously, so that the file is whole even if the process ends now.
  return (refused) => withFileName(file, () => writeFileSync(fd, `${JSON.stringify(refused)}\n`));
}

function printReport(command: Command, plants: PlantImporter, complete: boolean): Promise<void> {
  const { counts, ignored } = plants;
  const notSent = counts.notSent > 0 ? `not sent ${counts.notSent}, ` : '';
  const lines = [
    `${notSent}sent ${counts.sent}, stored ${counts.stored}, refused ${counts.refused}`,
  ];
  const fields = Array.from(ignored, ([name, count]) => `${name} (${count})`);
  if (fields.length > 0) lines.push(`ignored fields: ${fields.join(', ')}`);
  if (!complete) lines.push(`stopped after line ${counts.answeredLines}; importing again is safe`);
  const report = { complete, ...counts, ignoredFields: Object.fromEntries(ignored) };
  return printResult(command, lines.join('\n'), report);
}
