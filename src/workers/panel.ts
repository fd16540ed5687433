import cluster, { type Worker } from 'node:cluster';
import { ask, HELLO, type Answers } from './ask.js';

/** The workers that answer questions. */
export class Panel {
  private readonly workers = new Set<Worker>();

  constructor() {
    cluster.on('message', (worker, message) => {
      if (message === HELLO) this.workers.add(worker);
    });
    cluster.on('disconnect', (worker) => this.workers.delete(worker));
  }

  /** What each worker answers; undefined for one that does not. */
  async ask<Kind extends keyof Answers>(
    question: Kind,
  ): Promise<Map<Worker, Answers[Kind] | undefined>> {
    const workers = [...this.workers];
    const answers = await Promise.all(workers.map((worker) => ask(worker, question)));
    return new Map(workers.map((worker, i) => [worker, answers[i]]));
  }
}
