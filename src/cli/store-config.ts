import type { Config } from '../config/config.js';
import { describeProcess, readConfig } from '../config/environment.js';
import { Logger } from '../database/engine.js';

/** Longer than the service's timeout, as no request waits for it. */
const JOB_TIMEOUT_MS = 60_000;

/** Reads the configuration, and says on stderr which store it names. @throws ConfigError */
export function readStoreConfig(): Config {
  const config = readConfig();
  process.stderr.write(`${describeProcess(config)}\n`);
  return config;
}

/** Reads the configuration for long work on the store, whose log would go to stdout. @throws ConfigError */
export function readJobConfig(): Config {
  Logger.overrideLogger(false);
  return Object.assign(readStoreConfig(), { databaseTimeout: JOB_TIMEOUT_MS });
}
