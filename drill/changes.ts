import { setTimeout as sleep } from 'node:timers/promises';
import { Scenario } from './ledger.js';
import { Stage, type Service } from './stage.js';

/** Milliseconds of a change that is noticed. */
const CHANGED_MS = 500;
/** Milliseconds until a change is noticed at most: inspections come every second, and take some time on a busy machine. */
const MAX_UNNOTICED_MS = 2_000;

/** What an operator does to the store beside load, and what makes it right again. */
export interface Change {
  readonly name: string;
  /** What goes before it, and changes nothing. */
  readonly prepare?: (stage: Stage) => unknown;
  readonly make: (stage: Stage) => unknown;
  readonly undo: (stage: Stage) => unknown;
  /**
   * Whether plants are lost that are acknowledged after `make` has begun and before the first 503, as in a table that is then
   * dropped. Such 200s, and the other responses meanwhile, are taken for 503s; not those to requests that are sent later.
   */
  readonly takesBack?: boolean;
}

/** Makes changes in turn under load, several times. Each must be noticed in time. */
export async function makeChanges(
  service: Service,
  changes: readonly Change[],
  times: number,
): Promise<Scenario[]> {
  const all = changes.map((change) => ({ change, scenario: new Scenario(change.name) }));
  const scenarios = all.map(({ scenario }) => scenario);
  const stage = await Stage.start(service, scenarios[0] ?? new Scenario(''));
  for (let i = 0; i < times; i++)
    for (const { change, scenario } of all)
      await stage.round(scenario, () => strike(stage, change, scenario));
  await stage.finish();
  return scenarios;
}

async function strike(stage: Stage, change: Change, scenario: Scenario): Promise<void> {
  const { ledger } = stage;
  await change.prepare?.(stage);
  ledger.beginChange(change.takesBack ?? false);
  await change.make(stage);
  ledger.endChange();
  await stage.until('plants are refused', () => ledger.unnoticed !== undefined);
  const { unnoticed = NaN } = ledger;
  scenario.unnoticed.push(unnoticed);
  if (!(unnoticed <= MAX_UNNOTICED_MS)) scenario.learn(`not noticed for ${unnoticed} ms`);
  await sleep(CHANGED_MS);
  await change.undo(stage);
}
