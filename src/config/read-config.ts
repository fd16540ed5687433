import { existsSync } from 'node:fs';
import { validateSync } from 'class-validator';
import { Config } from './config.js';
import { VARIABLES } from './variable.js';

/** The configuration is bad; the message lists every variable at fault, and never a value. */
export class ConfigError extends Error {}

/**
 * Reads the configuration from the environment, and from a file `.env` where there is one; the
 * environment wins. An empty variable counts as one that is not set.
 *
 * @throws ConfigError
 */
export function readConfig(env = environment()): Config {
  const config = new Config();
  for (const { name, field, parse } of VARIABLES) {
    const text = env[name];
    if (text) Object.assign(config, { [field]: parse(text) });
  }
  const problems = validateSync(config).map(({ property, constraints = {} }) => {
    const name = VARIABLES.find(({ field }) => field === property)?.name ?? property;
    return `${name} ${[...new Set(Object.values(constraints))].join(' and ')}`;
  });
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config;
}

function environment(): NodeJS.ProcessEnv {
  if (existsSync('.env')) process.loadEnvFile();
  return process.env;
}
