import type { ThisProcess } from '../management/this-process.js';
import { HELLO, type Answers, type Question } from './ask.js';

/** Has this worker answer the questions of its primary process. */
export function answerPrimary(thisProcess: ThisProcess): void {
  const answers: { readonly [Kind in keyof Answers]: () => Promise<Answers[Kind]> } = {
    health: () => thisProcess.health(),
    metrics: () => thisProcess.counted.registry.getMetricsAsJSON(),
  };
  process.on('message', ({ id, question }: Question) => {
    void answers[question]().then((answer) => send({ id, answer }));
  });
  send(HELLO);
}

function send(message: unknown): void {
  // The primary may be gone by now, and this process about to end with it.
  process.send?.(message, undefined, undefined, () => undefined);
}
