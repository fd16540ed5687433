// What a command is given: its arguments, and the configuration.
import { InvalidArgumentError } from 'commander';
import type { Config } from '../config/config.js';
import { describeProcess, readConfig } from '../config/environment.js';
import type { EnvParser } from '../config/parsers.js';
import { Logger } from '../database/engine.js';
import { printOnTerminal } from './terminal.js';

/** It is longer than the service's timeout, as no request waits for a command. */
const JOB_TIMEOUT_MS = 60_000;

/** Makes commander's parser of an argument from that of a variable. */
export function toArgument<Value>({ rule, parse }: EnvParser<Value>) {
  return (text: string): Value => {
    const value = parse(text);
    if (value === undefined) throw new InvalidArgumentError(`It must be ${rule}.`);
    return value;
  };
}

/** The name of a token starts with a letter, so it cannot be mistaken for an id. */
export const toTokenName = toArgument({
  rule: 'a letter, then at most 63 letters, digits and any of ._@-',
  parse: (text) => (/^[A-Za-z][\w.@-]{0,63}$/.test(text) ? text : undefined),
});

/** Reads the configuration, and says on a terminal which store it names. @throws ConfigError */
export function readStoreConfig(): Config {
  const config = readConfig();
  printOnTerminal(describeProcess(config));
  return config;
}

/** Reads the configuration for long work on the store, whose log would go to stdout. @throws ConfigError */
export function readJobConfig(): Config {
  Logger.overrideLogger(false);
  return Object.assign(readStoreConfig(), { databaseTimeout: JOB_TIMEOUT_MS });
}
