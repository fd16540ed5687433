import { readFileSync } from 'node:fs';
import { ConfigError } from './config-error.js';

/**
 * Reads the text of the file that a variable names.
 *
 * @throws ConfigError where it cannot be read; the message has the variable, and not the path
 */
export function readFileOf(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${variable} must name a file that can be read (${code})`);
  }
}
