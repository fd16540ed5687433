import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import type { Config } from '../config/config.js';
import { Output } from './output.js';
import { readable } from './readable.js';
import { redact } from './redact.js';

let stdout: Output | undefined;

/**
 * The service's log by pino: one JSON object a line in production, lines to read in development; with
 * all of it on stdout (docs/logging.md).
 */
export function createLogger(
  { logLevel, production }: Config,
  output: DestinationStream = (stdout ??= new Output(process.stdout)),
): Logger {
  const logger = pino(
    {
      level: logLevel,
      base: { pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      hooks: { streamWrite: production ? redact : (line) => readable(redact(line)) },
    },
    output,
  );
  if (output instanceof Output) {
    output.onCaughtUp = (dropped) =>
      logger.warn({ context: 'Log', dropped }, 'lines were dropped: their reader was too slow');
  }
  return logger;
}
