import { Logger, type LoggerService } from '@nestjs/common';
import { describeError } from '../errors/describe.js';
import { Plant } from '../plants/plant.entity.js';
import { checkPlants } from './check-plants.js';
import { checkTokens, refuseTokenConflicts } from './check-tokens.js';
import { CopyError } from './conflicts.js';
import type { CopyConfig } from './copy-config.js';
import { copyPlants, refuseConflicts } from './copy-plants.js';
import { copyTokens } from './copy-tokens.js';
import { countPlants } from './count-plants.js';
import { reportOf, type Report } from './report.js';
import { inStage } from './stage.js';
import { withStores, type Stores } from './stores.js';

/** The store's log would go to stdout: of it only what ends the process is told, as every error is. */
const LAST_WORDS: LoggerService = {
  log: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: (message) => process.stderr.write(`error: ${message}\n`),
};

/**
 * Copies every plant and every token from one store to another: progress goes to stderr, what both
 * sides hold in the end to stdout. It goes on where an earlier copy was interrupted.
 *
 * @throws CopyError
 */
export async function runCopy({ from, to }: CopyConfig): Promise<void> {
  Logger.overrideLogger(LAST_WORDS);
  try {
    await withStores(from, to, copy);
  } catch (error) {
    if (error instanceof CopyError) throw error;
    const reason = `stopped: ${describeError(error)}; run it again, and it goes on`;
    throw new CopyError(reason, { cause: error });
  }
}

async function copy(stores: Stores): Promise<void> {
  const total = await countPlants(stores.source);
  await refuseTokenConflicts(stores);
  if (await stores.target.getRepository(Plant).exists()) {
    await inStage('comparing', total, (advance) => refuseConflicts(stores, advance));
  }
  await inStage('copying', total, (advance) => copyPlants(stores, advance));
  // Those that plants name are there by now; this is for the others, and for what became of any since.
  await copyTokens(stores);
  const plants = await inStage('checking', total, (advance) => checkPlants(stores, advance));
  print(reportOf('plants', plants), reportOf('tokens', await checkTokens(stores)));
}

function print(...reports: readonly Report[]): void {
  for (const line of reports.flatMap(({ lines }) => lines)) process.stdout.write(`${line}\n`);
  if (!reports.every(({ isSame }) => isSame)) {
    throw new CopyError('the two differ, as when the source was written meanwhile: run it again');
  }
}
