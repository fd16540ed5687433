import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseMetrics, type Metrics } from './exposition.js';

/** What /readyz answers. */
export interface Readiness {
  readonly status: number;
  /** The names of the checks that failed. */
  readonly failed: string[];
  readonly details: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Who looks at a service over its management port. */
export class Monitor {
  constructor(readonly port: number) {}

  /** The monitor of a service, by what it printed. */
  static of({ printed }: { readonly printed: string }): Monitor {
    return new Monitor(Number(/Management: http:\/\/127\.0\.0\.1:(\d+)/.exec(printed)?.[1]));
  }

  async send(method: string, path: string, body?: string) {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.port, method, path, agent: false };
      request(options, resolve).on('error', reject).end(body);
    });
    const { statusCode: status = 0, headers } = response;
    return { status, headers, text: await text(response) };
  }

  async live(): Promise<number> {
    return (await this.send('GET', '/livez')).status;
  }

  async ready(): Promise<Readiness> {
    const { status, text: body } = await this.send('GET', '/readyz');
    const { error, details } = JSON.parse(body) as { error: object; details: Readiness['details'] };
    return { status, failed: Object.keys(error), details };
  }

  /** Asks until the answer is this one: a status, and the checks that failed. */
  async until(status: number, ...failed: string[]): Promise<Readiness> {
    for (;;) {
      const answer = await this.ready();
      if (answer.status === status && failed.every((one) => answer.failed.includes(one)))
        return answer;
      await sleep(20);
    }
  }

  /** How often a token was looked up so far: once for each request that has come in with one. */
  async lookups(): Promise<number> {
    const counts = (await this.metrics()).get('plant_store_token_cache_lookups_total')?.samples;
    return [...(counts?.values() ?? [])].reduce((sum, count) => sum + count, 0);
  }

  async metrics(): Promise<Metrics> {
    const { status, text: body } = await this.send('GET', '/metrics');
    if (status !== 200) throw new Error(`/metrics answered ${status}`);
    return parseMetrics(body);
  }
}
