import type { Worker } from 'node:cluster';
import type { HealthIndicatorResult } from '@nestjs/terminus';
import type { MetricData } from './merge-metrics.js';

/** What the primary process asks its workers for, and what they answer. */
export interface Answers {
  readonly health: HealthIndicatorResult;
  readonly metrics: MetricData[];
}

/** A question as it goes over the channel; the answer to it has its id. */
export interface Question {
  readonly id: number;
  readonly question: keyof Answers;
}

/** What a worker sends once it answers questions: before that they would be lost. */
export const HELLO = 'plant-store:answers';

/** Milliseconds that an answer is waited for: a worker's own look at the store takes up to 2 s. */
const PATIENCE = 3_000;

let next = 0;

/** What a worker answers; undefined where it does not, as it stands still, or has ended. */
export function ask<Kind extends keyof Answers>(
  worker: Worker,
  question: Kind,
): Promise<Answers[Kind] | undefined> {
  return new Promise((resolve) => {
    const id = next++;
    const end = (answer?: Answers[Kind]): void => {
      clearTimeout(timer);
      worker.off('message', hear).off('disconnect', leave);
      resolve(answer);
    };
    const leave = (): void => end();
    const hear = (message: { readonly id?: number; readonly answer: Answers[Kind] }): void => {
      if (message.id === id) end(message.answer);
    };
    const timer = setTimeout(leave, PATIENCE);
    worker.on('message', hear).on('disconnect', leave);
    worker.send({ id, question } satisfies Question, (error) => {
      if (error) leave();
    });
  });
}
