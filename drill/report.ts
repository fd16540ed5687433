import { startFlags } from '../bench/machine.js';
import { describeRun, format, number, spreadOf, table } from '../bench/markdown.js';
import type { Scenario } from './ledger.js';
import { CLIENTS } from './load.js';

/** What a reader must know to repeat a run. @param items further items of the list */
export function describeDrill(script: string, ...items: string[]): string {
  const flags = `Node's flags: ${startFlags().join(' ')}`;
  const service = `- ${CLIENTS} clients for each service; one process of the service (${flags}), DATABASE_TIMEOUT 5s`;
  return describeRun(script, process.versions.node, service, ...items);
}

/** The answers of each scenario, how long it took the service from its clients, and how to read that. */
export function reportOn(scenarios: readonly Scenario[]): string[] {
  const andStored = (answers: number, stored: number) => `${number(answers)} (${number(stored)})`;
  const answers = scenarios.map(({ name, rounds, answers, stored, lost }) => [
    name,
    number(rounds.length),
    number(answers.acknowledged),
    andStored(answers.refused, stored.refused),
    andStored(answers.unknown, stored.unknown),
    number(answers.unreachable),
    number(lost),
  ]);
  const times = scenarios.map(({ name, rounds, longest }) => {
    const seconds = (figure: 'repair' | 'without200' | 'span') =>
      format(spreadOf(rounds.map((round) => round[figure] / 1_000)), 2);
    const figures = [seconds('repair'), seconds('without200'), seconds('span')];
    return [name, ...figures, number(longest / 1_000, 2)];
  });
  const errors = new Set(scenarios.flatMap((scenario) => [...scenario.errors]));
  return [
    table(['', 'times', 'acknowledged', 'refused', 'unknown', 'not connected', 'lost'], answers),
    table(
      ['seconds', 'until repaired', 'without a 200', 'first to last other', 'longest request'],
      times,
    ),
    `Every refusal was a 503 with Retry-After and the error ${[...errors].join(' or ')}; no other ` +
      'answer came. In brackets: those stored all the same; each was sent again and told 200. ' +
      'Times are medians (least–most).',
  ];
}
