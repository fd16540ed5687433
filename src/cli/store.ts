import { resolve } from 'node:path';
import type { LoggerService } from '@nestjs/common';
import type { Command } from 'commander';
import { Token } from '../auth/token.entity.js';
import { TokensService } from '../auth/tokens.service.js';
import type { Config } from '../config/config.js';
import { describeProcess, readConfig } from '../config/environment.js';
import { Logger } from '../database/engine.js';
import { openStore, selectEngine, type Store, type Subject } from '../database/open-store.js';
import { Snapshot } from '../database/snapshot.js';
import { Plant } from '../plants/plant.entity.js';
import { isSameFile } from './new-file.js';

/** Longer than the service's timeout, as no request waits for the answer. */
const JOB_TIMEOUT_MS = 60_000;

/** Keeps the store's log off stdout, but for the message of a failed sync, which ends the process. */
const FATAL_TO_STDERR: LoggerService = {
  log: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: (message) => process.stderr.write(`error: ${message}\n`),
};

/** The options of every command. */
export interface GlobalOptions {
  readonly envFile?: string;
  readonly quiet?: true;
}

/**
 * Reads the configuration, and says on stderr which store it names.
 *
 * @throws ConfigError
 */
export function readStoreConfig(command: Command): Config {
  const config = readConfig();
  const { quiet } = command.optsWithGlobals<GlobalOptions>();
  if (!quiet) process.stderr.write(`${describeProcess(config)}\n`);
  return config;
}

/** Reads the configuration for long work on the store; as {@link readStoreConfig} otherwise. */
export function readJobConfig(command: Command): Config {
  Logger.overrideLogger(FATAL_TO_STDERR);
  return Object.assign(readStoreConfig(command), { databaseTimeout: JOB_TIMEOUT_MS });
}

/** The configuration for long work on the store in a file. */
export function configureFile(path: string): Config {
  const config = readConfig({ DATABASE_URL: `sqlite:${resolve(path)}` });
  return Object.assign(config, { databaseTimeout: JOB_TIMEOUT_MS });
}

/** @throws Error if a new file would replace the store */
export function assertNotStore(file: string, { databaseUrl }: Config): void {
  const store = selectEngine(databaseUrl).findFile(databaseUrl);
  if (store !== undefined && isSameFile(store, file)) {
    throw new Error(`${file} is the store itself`);
  }
}

/** Works on the tokens of an existing store. @throws StoreUnusableError, TokenError */
export async function withTokens<Result>(
  command: Command,
  work: (tokens: TokensService) => Promise<Result>,
): Promise<Result> {
  const store = await openStore(readStoreConfig(command), [Token], 'change');
  try {
    return await work(new TokensService(store.getRepository(Token)));
  } finally {
    await store.destroy();
  }
}

/** Reads an existing store as of one moment. @throws StoreUnusableError */
export async function withSnapshot<Result>(
  config: Config,
  work: (store: Snapshot) => Promise<Result>,
  subject?: Subject,
): Promise<Result> {
  const store = await Snapshot.open(config, subject);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Writes plants and tokens to a store. @throws StoreUnusableError */
export async function withStore<Result>(
  config: Config,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await openStore(config, [Plant]);
  try {
    return await work(store);
  } finally {
    await store.destroy();
  }
}
