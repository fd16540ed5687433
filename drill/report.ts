import { program } from 'commander';
import { describeRun, number, report, table } from '../bench/markdown.js';
import type { Scenario } from './ledger.js';
import { CLIENTS } from './load.js';

const { quick, only } = program
  .name('npm run drill:… --')
  .option('--quick', 'do little', false)
  .option('--only <part>', 'do only one part')
  .parse()
  .opts<{ quick: boolean; only?: string }>();
/** Whether a drill does little. */
export { quick };

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
  report([run, ...more, ...(rows.length > 0 ? [table(rows)] : [])], all);
}
