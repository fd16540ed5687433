import type { Answer } from './client.js';

/** One disturbance as the clients saw it, in milliseconds. */
export interface Round {
  /** From the disturbance until what it struck was back. */
  readonly repair: number;
  /** The longest time in which no 200 came. */
  readonly without200: number;
  /** From the first answer that was no 200 to the last. */
  readonly span: number;
}

/** What is done to the service or its store, time and again, and what came of it. */
export class Scenario {
  readonly rounds: Round[] = [];
  acknowledged = 0;
  /** How often 503 came, by the number of the error. */
  readonly refused = new Map<number, number>();
  unknown = 0;
  unreachable = 0;
  /** Of the plants that got no 200 at first: those that were stored all the same. */
  readonly storedUntold = { refused: 0, unknown: 0, unreachable: 0 };
  /** Plants that were told 200 and are not there, or are not what was sent. */
  lost = 0;
  /** The longest that a request took, in milliseconds. */
  longest = 0;

  constructor(readonly name: string) {}

  note(answer: Answer, took: number): void {
    this.longest = Math.max(this.longest, took);
    if (answer.kind === 'refused') {
      this.refused.set(answer.error, (this.refused.get(answer.error) ?? 0) + 1);
    } else if (answer.kind !== 'wrong') this[answer.kind] += 1;
  }

  get refusals(): number {
    return [...this.refused.values()].reduce((sum, n) => sum + n, 0);
  }
}
