import { resolve } from 'node:path';
import type { LoggerService } from '@nestjs/common';
import { Config } from '../config/config.js';
import { describeProcess, readConfig } from '../config/environment.js';
import { Logger } from '../database/engine.js';

/** Longer than the service's timeout, as no request waits for it. */
const JOB_TIMEOUT_MS = 60_000;

/** Keeps the store's log off stdout, but for the message of a failed sync, which ends the process. */
const FATAL_TO_STDERR: LoggerService = {
  log: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: (message) => process.stderr.write(`error: ${message}\n`),
};

/** Reads the configuration, and says on stderr which store it names. @throws ConfigError */
export function readStoreConfig(): Config {
  const config = readConfig();
  process.stderr.write(`${describeProcess(config)}\n`);
  return config;
}

/** Reads the configuration for long work on the store; as {@link readStoreConfig} otherwise. */
export function readJobConfig(): Config {
  Logger.overrideLogger(FATAL_TO_STDERR);
  return Object.assign(readStoreConfig(), { databaseTimeout: JOB_TIMEOUT_MS });
}

/** @throws Error for a name that SQLite's driver would cut: it would open another file */
export function configureFile(path: string): Config {
  if (/\s$/.test(path)) throw new Error(`${path}: the name of a backup must not end in a blank`);
  const databaseUrl = `sqlite:${resolve(path)}`;
  return Object.assign(new Config(), { databaseUrl, databaseTimeout: JOB_TIMEOUT_MS });
}
