import type { Check } from './digest.js';

/** What both sides hold in the end, one line each, and whether that is the same. */
export interface Report {
  readonly lines: readonly string[];
  readonly isSame: boolean;
}

/** @param kind what was counted and digested, such as plants */
export function reportOf(kind: string, { source, target, further, otherwise = 0 }: Check): Report {
  const ends = { source: source.end(), target: target.end() };
  const beyond =
    (otherwise > 0 ? `, ${otherwise} with a different creator or time` : '') +
    (further > 0 ? `, plus ${further} more` : '');
  return {
    lines: [
      `${kind} in the source: ${source.count}, sha256 ${ends.source}`,
      `${kind} in the target: ${target.count}, sha256 ${ends.target}${beyond}`,
    ],
    isSame: source.count === target.count && ends.source === ends.target,
  };
}
