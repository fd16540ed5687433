import type { Received } from './received.js';

/** How often each answer came, by its status and text. */
export function tally(answers: Received[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, text } of answers) {
    const key = `${status} ${text}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}
