import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../config/env-parsers.js';
import { parseInstant } from '../instant.js';

/** A duration, in milliseconds, for commander. */
export function duration(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) {
    throw new InvalidArgumentError(
      'A duration is a whole number and s, m, h, d or w, such as 90d.',
    );
  }
  return milliseconds;
}

/** A duration that may be none at all. */
export function durationOrNone(text: string): number {
  return text === '0s' ? 0 : duration(text);
}

/** A date or an instant, for commander. */
export function instant(text: string): Date {
  const date = parseInstant(text);
  if (date) return date;
  throw new InvalidArgumentError(
    'A date is like 2026-11-21, and begins at midnight UTC; a time has a zone: 2026-11-21T13:40Z.',
  );
}
