import type { Answer } from './client.js';
import { Outage } from './outage.js';
import type { Scenario } from './scenario.js';

/** How a plant can be left without a 200. */
export type Untold = 'refused' | 'unknown' | 'unreachable';

/** The first 200 of a plant. */
export interface Acknowledgement {
  readonly scenario: Scenario;
  /** Nanoseconds of CLOCK_MONOTONIC. */
  readonly at: bigint;
}

/** The book of what the clients of one store were told. */
export class Ledger {
  /** Every plant that was told 200, and when first. */
  readonly acknowledged = new Map<bigint, Acknowledgement>();
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
    const at = process.hrtime.bigint();
    this.scenario.note(answer, took);
    this.outage.note(answer.kind === 'acknowledged');
    if (answer.kind === 'acknowledged') {
      const first = this.acknowledged.get(id);
      if (!first) this.acknowledged.set(id, { scenario: this.scenario, at });
      this.open.delete(id);
    } else if (answer.kind === 'wrong') {
      this.wrong.push(`${this.scenario.name}: ${answer.what}`);
    } else if (!this.acknowledged.has(id)) {
      this.open.set(id, answer.kind);
    }
  }
}
