const DURATION = /^([1-9]\d{0,4})([smhdw])$/;

const SECOND = 1_000;
const UNITS: Record<string, number> = {
  s: SECOND,
  m: 60 * SECOND,
  h: 3_600 * SECOND,
  d: 86_400 * SECOND,
  w: 7 * 86_400 * SECOND,
};

/**
 * Reads a duration: a whole number from 1 to 99999 and its unit, `s`, `m`, `h`, `d` or `w`.
 *
 * @returns milliseconds, or undefined where the text is no duration
 */
export function parseDuration(text: string): number | undefined {
  const [, number, unit = ''] = DURATION.exec(text) ?? [];
  const milliseconds = Number(number) * (UNITS[unit] ?? Number.NaN);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
