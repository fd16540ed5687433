import { startFlags } from '../bench/machine.js';
import { describeRun, format, number, spreadOf, table } from '../bench/markdown.js';
import type { Scenario } from './ledger.js';
import { CLIENTS } from './load.js';

/** What a reader must know to repeat a run. @param items further items of the list */
export function describeDrill(...items: string[]): string {
  const service = `- ${CLIENTS} clients; the service with ${startFlags().join(' ')}, DATABASE_TIMEOUT 5s`;
  return describeRun(process.versions.node, service, ...items);
}

/** The answers of each scenario, and how long it took the service from its clients. */
export function reportOn(scenarios: readonly Scenario[]): string[] {
  const rows = scenarios.map(({ name, rounds, answers, lost, longest }) => {
    const seconds = (figure: 'repair' | 'without200') =>
      format(spreadOf(rounds.map((round) => round[figure] / 1_000)), 2);
    const { acknowledged, refused, unknown, unreachable } = answers;
    const counts = [rounds.length, acknowledged, refused, unknown, unreachable, lost];
    const times = [seconds('repair'), seconds('without200'), number(longest / 1_000, 2)];
    return [name, ...counts.map((count) => number(count)), ...times];
  });
  const head = [
    ...['', 'times', 'acknowledged', 'refused', 'unknown', 'not connected', 'lost'],
    ...['until repaired, s', 'without a 200, s', 'longest request, s'],
  ];
  return [
    table(head, rows),
    'Every refusal was a 503 with Retry-After and the error 5001; no other answer came. Each was ' +
      'sent again and told 200. Times are medians (least–most).',
  ];
}
