import { createReadStream, statSync } from 'node:fs';
import { count, PlantsImport, type Tally } from './import-plants.js';
import { RETRY_POLICY, PlantsClient } from './plants-client.js';
import { posting } from './post.js';
import { Progress, progressLine } from './progress.js';
import { rejecting } from './rejects.js';

/** What the operator chooses for an import. */
export interface ImportOptions {
  /** Base address of the service. */
  readonly url: URL;
  readonly token: string;
  /** Path of the file for refused plants. */
  readonly rejects?: string | undefined;
  /** Plants under way at once. */
  readonly concurrency: number;
  /** Tries of one plant before the import stops. */
  readonly tries: number;
}

/**
 * Imports a file, or the standard input where it is `-`: progress and refused plants go to stderr,
 * the summary to stdout.
 *
 * @throws ImportStopped; Error where a file cannot be opened
 */
export async function runImport(file: string, options: ImportOptions): Promise<Tally> {
  const { url, token, concurrency, tries, rejects } = options;
  const size = file === '-' ? 0 : statSync(file).size;
  const source = file === '-' ? process.stdin : createReadStream(file);
  const tally: Tally = { stored: 0, refused: 0, bytes: 0 };
  const { post, close } = posting(url, token, concurrency);
  const client = new PlantsClient(post, { ...RETRY_POLICY, tries });
  const line = (seconds: number) => progressLine(tally, size, seconds, client.lastError);
  const progress = new Progress(line, process.stderr);
  try {
    const report = rejecting(rejects, (line) => progress.say(line));
    await new PlantsImport(client, concurrency, tally, report).run(source);
  } finally {
    progress.end();
    close();
  }
  const { stored, refused } = tally;
  process.stdout.write(`${count(stored)} stored (sent ${stored + refused}, refused ${refused})\n`);
  return tally;
}
