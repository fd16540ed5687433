import { Option, type Command } from 'commander';
import { isCredential } from '../client/plant-store-client.js';
import { httpUrl, wholeNumber } from './arguments.js';
import type { ImportOptions } from './import/run-import.js';
import { isSameFile } from './new-file.js';
import { jsonOption } from './session.js';

type Options = Omit<ImportOptions, 'token'> & { readonly token?: string };

/** The standard input's file descriptor. */
const STDIN = 0;

const DESCRIPTION =
  'Send the plants of a file to a running plant store: NDJSON, one NewPlant per line. Each line is ' +
  'sent as it is, many at a time. A plant is sent again, with growing delays, when the ' +
  'connection breaks or the service answers 429 or 5xx; any other answer but 200 and 400 stops ' +
  'the import, and so does Ctrl-C once what is in flight is answered. To import again is safe: what ' +
  'is already stored is acknowledged, and counts as stored, but is not stored twice.';

const NOTES = `
Refused plants are listed on stderr with their line numbers. With --rejects they
go to a file too, as NDJSON of line, error, message and plant, the text sent:
  $ jq -r .plant rejects.ndjson > again.ndjson

Examples:
  $ export PLANT_STORE_TOKEN=$(npx plant-store token create importer)
  $ npx plant-store import plants.ndjson --rejects rejects.ndjson
  $ zcat plants.ndjson.gz | npx plant-store import - --url https://plants.example`;

/** `import`: a client of the service, which needs neither its store nor its configuration. */
export function addImportCommand(program: Command): void {
  program
    .command('import')
    .summary('send the plants of a file to a running plant store')
    .description(DESCRIPTION)
    .argument('<file>', 'the file; - is the standard input')
    .addOption(
      new Option('--url <url>', 'base address of the service')
        .env('PLANT_STORE_URL')
        .default(new URL('http://127.0.0.1:3000'), 'http://127.0.0.1:3000')
        .argParser(httpUrl),
    )
    .addOption(
      new Option('--token <token>', 'bearer token; the variable keeps it out of ps').env(
        'PLANT_STORE_TOKEN',
      ),
    )
    .option('--rejects <file>', 'where refused plants go; overwritten')
    .option('--concurrency <n>', 'plants in flight at once, 1 to 1024', wholeNumber(1_024), 64)
    .option('--tries <n>', 'tries per plant before the import stops, 1 to 99', wholeNumber(99), 10)
    .addOption(jsonOption())
    .addHelpText('after', NOTES)
    .action(async (file: string, options: Options, command: Command) => {
      const { token = '', rejects } = options;
      // Not a parser of the option's own, whose message would show the token.
      if (!isCredential(token)) {
        command.error('error: no valid token: give one by --token or PLANT_STORE_TOKEN');
      }
      if (rejects !== undefined && isSameFile(file === '-' ? STDIN : file, rejects)) {
        command.error('error: --rejects would overwrite the file to import');
      }
      const { runImport } = await import('./import/run-import.js');
      const { refused } = await runImport(file, { ...options, token });
      if (refused > 0) process.exitCode = 1;
    });
}
