import { Logger, type LoggerService } from '@nestjs/common';
import { describeError } from '../../errors/describe.js';
import { Plant } from '../../plants/plant.entity.js';
import { barOf, Progress } from '../progress.js';
import {
  checkPlants,
  copyPlants,
  countPlants,
  refusePlantConflicts,
  type Advance,
} from './plants.js';
import { checkTokens, copyTokens, refuseTokenConflicts } from './tokens.js';
import { CopyError, reportOf } from './report.js';
import { withStores, type CopyConfig, type Stores } from './stores.js';

/** The store's log would go to stdout: of it, stderr gets only what ends the process, as every error does. */
const FATAL_ONLY: LoggerService = {
  log: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: (message) => process.stderr.write(`error: ${message}\n`),
};

/**
 * Copies every plant and every token from one store to another: progress goes to stderr, what both
 * sides hold in the end to stdout. It continues where an earlier copy was interrupted.
 *
 * @throws CopyError
 */
export async function runCopy(config: CopyConfig): Promise<void> {
  Logger.overrideLogger(FATAL_ONLY);
  try {
    await withStores(config, copy);
  } catch (error) {
    if (error instanceof CopyError) throw error;
    const reason = `stopped: ${describeError(error)}; run it again, and it continues`;
    throw new CopyError(reason, { cause: error });
  }
}

async function copy(stores: Stores): Promise<void> {
  const total = await countPlants(stores.source);
  await refuseTokenConflicts(stores);
  if (await stores.target.getRepository(Plant).exists()) {
    await inStage('comparing', total, (advance) => refusePlantConflicts(stores, advance));
  }
  await inStage('copying', total, (advance) => copyPlants(stores, advance));
  // Those that plants name are there by now; this is for the others, and for what became of any since.
  await copyTokens(stores);
  const plants = await inStage('checking', total, (advance) => checkPlants(stores, advance));
  const reports = [reportOf('plants', plants), reportOf('tokens', await checkTokens(stores))];
  process.stdout.write(`${reports.flatMap(({ lines }) => lines).join('\n')}\n`);
  if (!reports.every(({ isSame }) => isSame)) {
    throw new CopyError('source and target differ, as when the source changed: run it again');
  }
}

/** Shows on stderr how far some work on so many plants is, while it lasts. */
async function inStage<Result>(
  name: string,
  total: number,
  work: (advance: Advance) => Promise<Result>,
): Promise<Result> {
  let done = 0;
  const progress = new Progress((seconds) => stageLine(name, done, total, seconds));
  try {
    return await work((plants) => (done += plants));
  } finally {
    progress.end();
  }
}

/** How a stage stands after some seconds, in one line. */
export function stageLine(name: string, done: number, total: number, seconds: number): string {
  return `${name} ${barOf(done, total)} ${done} of ${total} plants, ${Math.round(done / seconds)}/s`;
}
