import type { Command } from 'commander';
import { ConfigError, readSecret } from '../config/read-secret.js';

/**
 * Lets the secrets among a command's options, which are those that have a variable and no parser, be
 * given as `NAME_FILE` too, as the service's are. To be run before the command reads its options: what
 * stands on the command line then wins.
 */
export function readSecretFiles(program: Command, command: Command): void {
  for (const option of command.options) {
    if (option.envVar === undefined || option.parseArg) continue;
    try {
      const secret = readSecret(option.envVar);
      // Not as from 'env': a variable that is empty would then take its place.
      if (secret) command.setOptionValueWithSource(option.attributeName(), secret, 'secret');
    } catch (error) {
      if (error instanceof ConfigError) program.error(`error: ${error.message}`);
      throw error;
    }
  }
}
