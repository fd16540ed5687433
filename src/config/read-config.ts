import { existsSync } from 'node:fs';
import { Config } from './config.js';
import { ConfigError } from './config-error.js';
import { readSecret } from './read-secret.js';
import { brokenRules } from './rules.js';
import { VARIABLES } from './variable.js';

/**
 * Reads the configuration from the environment, and from a file `.env` where there is one; the
 * environment wins. An empty variable counts as one that is not set.
 *
 * @throws ConfigError
 */
export function readConfig(env = environment()): Config {
  const config = new Config();
  const problems: string[] = [];
  for (const { name, field, kind, isSecret } of VARIABLES) {
    try {
      const text = isSecret ? readSecret(name, env) : env[name];
      if (!text) continue;
      const value = kind.parse(text);
      if (value === undefined) problems.push(`${name} ${kind.must}`);
      else Object.assign(config, { [field]: value });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(error.message);
    }
  }
  problems.push(...brokenRules(config));
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config;
}

function environment(): NodeJS.ProcessEnv {
  if (existsSync('.env')) process.loadEnvFile();
  return process.env;
}
