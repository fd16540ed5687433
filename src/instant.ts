const DAY = /^\d{4}-\d\d-\d\d$/;
const INSTANT = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Reads a date or an instant of ISO 8601, as RFC 3339 has them: `2026-11-21`, whose midnight in UTC is
 * meant, or `2026-11-21T13:40:00Z`, with or without seconds. A time without a zone could mean any.
 *
 * @returns undefined where the text is neither
 */
export function parseInstant(text: string): Date | undefined {
  const day = DAY.test(text) ? text : INSTANT.exec(text)?.[1];
  // JavaScript would take 30 February for 2 March.
  if (day === undefined || !isDay(day)) return undefined;
  const instant = new Date(text);
  return Number.isNaN(instant.getTime()) ? undefined : instant;
}

function isDay(day: string): boolean {
  const midnight = new Date(day);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}
