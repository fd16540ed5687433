import { parseArgs } from 'node:util';

/** What a run of the benchmark is asked for on its command line. */
export interface Options {
  readonly rounds: number;
  /** Seconds of measured load in a round, and of load before it that is not measured. */
  readonly seconds: number;
  readonly warmUp: number;
  readonly connections: number;
  /** Plants in the large store (growth only). */
  readonly plants: number;
  /** The Node release to fetch and measure, `24` say; undefined for the one that runs. */
  readonly node: string | undefined;
  /** Whether docs/performance.md is left as it is. */
  readonly quick: boolean;
}

const FULL = { rounds: 7, seconds: 10, 'warm-up': 3, connections: 64, plants: 5_000_000 };
const QUICK = { ...FULL, rounds: 2, seconds: 2, 'warm-up': 1, plants: 100_000 };

/**
 * Reads `--rounds --seconds --warm-up --connections --plants --node --quick`.
 *
 * @throws Error where an option is unknown or its value is no whole number above 0
 */
export function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      ...Object.fromEntries(Object.keys(FULL).map((name) => [name, { type: 'string' }] as const)),
      node: { type: 'string' },
      quick: { type: 'boolean', default: false },
    },
  });
  const given: Record<string, string | boolean | undefined> = values;
  const defaults = values.quick ? QUICK : FULL;
  const number = (name: keyof typeof FULL): number => {
    const value = Number(given[name] ?? defaults[name]);
    if (!Number.isSafeInteger(value) || value < 1)
      throw new Error(`--${name} is no number above 0`);
    return value;
  };
  return {
    rounds: number('rounds'),
    seconds: number('seconds'),
    warmUp: number('warm-up'),
    connections: number('connections'),
    plants: number('plants'),
    node: values.node,
    quick: values.quick,
  };
}
