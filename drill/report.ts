import { randomInt } from 'node:crypto';
import { program } from 'commander';
import { describeRun, medianOf, number, report, table, type Cells } from '../bench/markdown.js';
import type { Scenario } from './ledger.js';
import { CLIENTS } from './load.js';

const { quick, only, seed, states } = program
  .name('npm run drill:… --')
  .option('--quick', 'do little', false)
  .option('--only <part>', 'do only one part')
  .option('--seed <n>', 'repeat the states of a run', Number, randomInt(2 ** 30))
  .option('--states <n>', 'make so many states', Number)
  .parse()
  .opts<{ quick: boolean; only?: string; seed: number; states?: number }>();
/** Whether a drill does little; what its states are drawn from, and how many. */
export { quick, seed };
export const stateCount = states ?? (quick ? 6 : 500);

/** Runs the parts of a drill one after the other, or the one of `--only`. */
export async function runParts(parts: Readonly<Record<string, () => Promise<Scenario[]>>>) {
  const names = Object.keys(parts);
  if (only !== undefined && !names.includes(only))
    program.error(`--only must be one of ${names.join(', ')}`);
  const scenarios: Scenario[] = [];
  for (const [name, run] of Object.entries(parts))
    if (only === undefined || name === only) scenarios.push(...(await run()));
  return scenarios;
}

/** Ends a drill by its report. @param more the rest of it, and what else is wrong */
export function finish(
  scenarios: readonly Scenario[],
  more: readonly string[] = [],
  wrong: readonly string[] = [],
): never {
  const rows = scenarios.map(({ name, times, counts, longest, gap }) => ({
    '': name,
    times,
    ...counts,
    'longest without a final response, s': number(gap / 1_000, 2),
    'longest request, s': number(longest / 1_000, 2),
  }));
  const run = describeRun(`${CLIENTS} clients; the service with DATABASE_TIMEOUT 5s`);
  const all = [...wrong, ...scenarios.flatMap((scenario) => scenario.wrong)];
  const tables = [rows, reportChanges(scenarios)].filter((each) => each.length > 0).map(table);
  report([run, ...more, ...tables], all);
}

/** How long operators' changes of the store were not noticed, by kind and of all. */
function reportChanges(scenarios: readonly Scenario[]): Cells[] {
  const changed = scenarios.filter(({ unnoticed }) => unnoticed.length > 0);
  if (changed.length === 0) return [];
  const describe = (name: string, kinds: readonly Scenario[]): Cells => {
    const times = kinds.flatMap(({ unnoticed }) => unnoticed);
    return {
      'until the first 503': name,
      changes: times.length,
      'p50, s': number(medianOf(times) / 1_000, 2),
      'longest, s': number(Math.max(...times) / 1_000, 2),
      'taken back': kinds.reduce((sum, { takenBack }) => sum + takenBack, 0),
    };
  };
  return [...changed.map((each) => describe(each.name, [each])), describe('all', changed)];
}
