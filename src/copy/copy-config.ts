import type { Config } from '../config/config.js';
import { engineOf } from '../database/open-store.js';
import { ConfigError } from '../config/read-secret.js';
import { readConfig } from '../config/read-config.js';

/** Nobody waits for an answer here, as a request does. */
const PATIENCE = '1m';

/** Where a copy comes from and where it goes, each as the service's own configuration would have it. */
export interface CopyConfig {
  readonly from: Config;
  readonly to: Config;
}

/**
 * Reads the two addresses, which are as DATABASE_URL is.
 *
 * @throws ConfigError whose message names the option at fault, and never repeats an address
 */
export function readCopyConfig(from: string, to: string): CopyConfig {
  const config = { from: readSide('--from', from), to: readSide('--to', to) };
  const [source, target] = [engineOf(from), engineOf(to)];
  if (source === target && source.placeOf(from) === target.placeOf(to)) {
    throw new ConfigError('--from and --to are the same store');
  }
  return config;
}

function readSide(option: string, url: string): Config {
  // To the configuration, an empty variable is one that is not set.
  if (url === '') throw new ConfigError(`${option} is empty`);
  try {
    return readConfig({ DATABASE_URL: url, DATABASE_TIMEOUT: PATIENCE });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.message.replace('DATABASE_URL', option), { cause: error });
  }
}
