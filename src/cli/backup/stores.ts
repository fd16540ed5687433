import { resolve } from 'node:path';
import { Logger, type LoggerService } from '@nestjs/common';
import type { Command } from 'commander';
import type { Config } from '../../config/config.js';
import { readConfig } from '../../config/read-config.js';
import { selectEngine } from '../../database/open-store.js';
import { isSameFile } from '../new-file.js';
import { readStoreConfig } from '../session.js';

/** Nobody waits for an answer here, as a request does. */
const TIMEOUT_MS = 60_000;

/** The store's log would go to stdout: of it, stderr gets only what ends the process, as every error does. */
const FATAL_ONLY: LoggerService = {
  log: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: (message) => process.stderr.write(`error: ${message}\n`),
};

/** The configuration of the store that DATABASE_URL names, for long work on it; says on stderr which that is. */
export async function storeConfig(command: Command): Promise<Config> {
  Logger.overrideLogger(FATAL_ONLY);
  return Object.assign(await readStoreConfig(command), { databaseTimeout: TIMEOUT_MS });
}

/** The same, for the store in a file. */
export function fileConfig(path: string): Config {
  const config = readConfig({ DATABASE_URL: `sqlite:${resolve(path)}` });
  return Object.assign(config, { databaseTimeout: TIMEOUT_MS });
}

/** @throws Error where a file that is to be made would take the place of the store */
export function assertNotStore(file: string, { databaseUrl }: Config): void {
  const store = selectEngine(databaseUrl).findFile(databaseUrl);
  if (store !== undefined && isSameFile(store, file))
    throw new Error(`${file} is the store itself`);
}
