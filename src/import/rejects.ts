import { openSync, writeSync } from 'node:fs';
import type { Refused } from './import-plants.js';

/** Refused plants that are shown one by one where a file has them all. */
const SHOWN = 20;

/**
 * Makes the reporter of refused plants: a line each for the operator, and NDJSON of
 * {@link Refused} in a file, if one is named. With a file, the lines for the operator end after 20.
 *
 * @throws Error at once where the file cannot be written
 */
export function rejecting(
  file: string | undefined,
  say: (line: string) => void,
): (refused: Refused) => void {
  const descriptor = file === undefined ? undefined : openSync(file, 'w');
  let number = 0;
  return (refused) => {
    number += 1;
    const { line, error, message } = refused;
    if (file === undefined || number <= SHOWN)
      say(`line ${line}: error ${error}: ${printable(message)}`);
    else if (number === SHOWN + 1) say(`further refused plants are in ${file} alone`);
    // Synchronous, so that the file is whole however the import ends.
    if (descriptor !== undefined) writeSync(descriptor, `${JSON.stringify(refused)}\n`);
  };
}

/** The service's words go to a terminal: without what would move its cursor or break the line. */
function printable(message: string): string {
  return message.replaceAll(/\p{Cc}/gu, ' ');
}
