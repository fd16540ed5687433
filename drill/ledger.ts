import type { Answer } from './client.js';
import { Outage } from './outage.js';
import type { Scenario } from './scenario.js';

/** How a plant can be left without a 200. */
export type Untold = 'refused' | 'unknown' | 'unreachable';

/** The book of what the clients of one store were told. */
export class Ledger {
  /** Every plant that was told 200, and when first. */
  readonly acknowledged = new Map<bigint, Scenario>();
  /** Plants that must be sent again. */
  readonly open = new Map<bigint, Untold>();
  /** Answers that must never come. */
  readonly wrong: string[] = [];
  outage = new Outage();

  /** @param scenario what the answers count for, until another takes its place */
  constructor(private scenario: Scenario) {}

  /** A disturbance begins. */
  begin(scenario: Scenario): Outage {
    this.scenario = scenario;
    this.outage = new Outage();
    return this.outage;
  }

  note(id: bigint, answer: Answer, took: number): void {
    this.scenario.note(answer, took);
    this.outage.note(answer.kind === 'acknowledged');
    if (answer.kind === 'acknowledged') {
      if (!this.acknowledged.has(id)) this.acknowledged.set(id, this.scenario);
      this.open.delete(id);
    } else if (answer.kind === 'wrong') {
      this.wrong.push(`${this.scenario.name}: ${answer.what}`);
    } else if (!this.acknowledged.has(id)) {
      this.open.set(id, answer.kind);
    }
  }
}
