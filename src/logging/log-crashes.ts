import { Logger } from '@nestjs/common';

/**
 * Logs an error that nothing caught, and ends the process with 1. Node itself would print all members
 * of the error, and with them the plants of a query.
 */
export function logCrashes(): void {
  process.on('uncaughtException', (error: unknown) => {
    new Logger('PlantStore').fatal('uncaught exception', error);
    process.exit(1);
  });
}
