import type { Sample } from './measure.js';

/** A contestant and its samples, one for each round. */
export interface Row {
  readonly name: string;
  readonly samples: Sample[];
}

/** Takes a sample of every contestant in each round; each round begins with another one. */
export async function inRounds<T extends { readonly name: string }>(
  contestants: readonly T[],
  rounds: number,
  sample: (contestant: T) => Promise<Sample>,
): Promise<(Row & { readonly contestant: T })[]> {
  const rows = contestants.map((contestant) => ({
    contestant,
    name: contestant.name,
    samples: [] as Sample[],
  }));
  for (let round = 0; round < rounds; round++) {
    const first = round % rows.length;
    for (const { contestant, name, samples } of [...rows.slice(first), ...rows.slice(0, first)]) {
      const taken = await sample(contestant);
      samples.push(taken);
      console.log(`round ${round + 1}  ${name}: ${Math.round(taken.rate)}/s, p99 ${taken.p99} ms`);
    }
  }
  return rows;
}
