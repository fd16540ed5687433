import { program } from 'commander';
import { describeRun, number, publish, rangeOf, table } from '../bench/markdown.js';
import type { Scenario } from './ledger.js';
import { CLIENTS } from './load.js';

/** Whether a drill does little; whether clients race for ids. Both leave drill/RESULTS.md as it is. */
export const { quick, race } = program
  .name('npm run drill:… --')
  .option('--quick', 'do little, and leave drill/RESULTS.md as it is', false)
  .option('--race', 'race for ids, and check that the history is linearizable (needs Go)', false)
  .parse()
  .opts<{ quick: boolean; race: boolean }>();

/** 32 clients race for 500 ids. */
export const RACE = { clients: 32, raced: 500, pause: 4 };

/**
 * Ends a drill by its report.
 *
 * @param name of the report in drill/RESULTS.md
 * @param items further items of the run's description
 * @param wrong in addition to what the scenarios know
 * @param more the rest of the report
 */
export function publishReport(
  name: string,
  items: readonly string[],
  wrong: readonly string[],
  scenarios: readonly Scenario[],
  ...more: string[]
): never {
  const clients = race
    ? `${RACE.clients} clients race for ${RACE.raced} ids`
    : `${CLIENTS} clients`;
  const service = `- ${clients}; the service with DATABASE_TIMEOUT 5s`;
  const rows = scenarios.map(({ name, rounds, counts, lost, longest }) => {
    const seconds = (figure: 'repair' | 'without200') => {
      const values = rounds.map((round) => round[figure] / 1_000);
      return rangeOf(values, 2);
    };
    return {
      '': name,
      times: rounds.length,
      acknowledged: counts.acknowledged,
      ...(race && { taken: counts.taken }),
      refused: counts.refused,
      unknown: counts.unknown,
      'not connected': counts.unreachable,
      lost,
      'until repaired, s': seconds('repair'),
      'without a 200, s': seconds('without200'),
      'longest request, s': number(longest / 1_000, 2),
    };
  });
  const report = [
    describeRun(service, ...items),
    ...more,
    table(rows),
    'Every refusal was a 503 with Retry-After and the error 5001; no other response came. Each was ' +
      'sent again and acknowledged. Times are medians (least–most).',
  ];
  const all = [...wrong, ...scenarios.flatMap((scenario) => scenario.wrong)];
  publish(report, all, quick || race ? undefined : ['drill/RESULTS.md', name]);
}
