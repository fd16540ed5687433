import type { Command } from 'commander';
import { ConfigError } from '../config/config-error.js';
import { readSecret } from '../config/read-secret.js';

/**
 * Lets every variable of a command's options be given as `NAME_FILE` too, as those of the service's
 * secrets are. To be run before the command reads its options.
 */
export function readSecretFiles(program: Command, command: Command): void {
  for (const { envVar } of command.options) {
    if (envVar === undefined || !process.env[`${envVar}_FILE`]) continue;
    try {
      process.env[envVar] = readSecret(envVar, process.env);
    } catch (error) {
      if (error instanceof ConfigError) program.error(`error: ${error.message}`);
      throw error;
    }
  }
}
