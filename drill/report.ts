import { format, number, table } from '../bench/markdown.js';
import { spreadOf } from '../bench/statistics.js';
import type { Round, Scenario } from './scenario.js';

/** The answers of each scenario, and what is in the store afterwards. */
export function answersOf(scenarios: readonly Scenario[]): string {
  return table(
    ['', 'times', 'acknowledged', 'refused', 'unknown', 'not connected', 'lost'],
    scenarios.map((scenario) => [
      scenario.name,
      number(scenario.rounds.length, 0),
      number(scenario.acknowledged, 0),
      andStored(scenario.refusals, scenario.storedUntold.refused),
      andStored(scenario.unknown, scenario.storedUntold.unknown),
      number(scenario.unreachable, 0),
      number(scenario.lost, 0),
    ]),
  );
}

function andStored(answers: number, stored: number): string {
  return `${number(answers, 0)} (${number(stored, 0)})`;
}

/** How long each scenario took the service from its clients, in seconds. */
export function timesOf(scenarios: readonly Scenario[]): string {
  return table(
    ['seconds', 'until repaired', 'without a 200', 'first to last other', 'longest request'],
    scenarios.map(({ name, rounds, longest }) => {
      const seconds = (figure: (round: Round) => number): string =>
        format(spreadOf(rounds.map((round) => figure(round) / 1_000)), 2);
      return [
        name,
        seconds(({ repair }) => repair),
        seconds(({ without200 }) => without200),
        seconds(({ span }) => span),
        number(longest / 1_000, 2),
      ];
    }),
  );
}

/** How to read the tables. */
export function notesOn(scenarios: readonly Scenario[]): string {
  const errors = new Set(scenarios.flatMap(({ refused }) => [...refused.keys()]));
  return (
    `Every refusal was a 503 with Retry-After and the error ${[...errors].join(' or ')}; no other ` +
    'answer came. In brackets: those stored all the same; each was sent again and told 200. ' +
    'Times are medians (least–most).'
  );
}
