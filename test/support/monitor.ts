import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** The response of /readyz. */
export interface Readiness {
  readonly status: number;
  /** The names of the checks that failed. */
  readonly failed: string[];
  readonly details: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Each poll takes some milliseconds of CPU, and an inspection comes once a second. */
const POLL_MS = 50;
/** After so many polls, 40 s at least, a state that a test waits for will not come. */
const POLLS = 800;

/** A client of a service's management port. */
export class Monitor {
  constructor(readonly port: number) {}

  /** The monitor of a service, by the address that it printed. */
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

  /**
   * Polls /readyz until it has this status and these failed checks.
   *
   * @throws Error with the last response if that does not come
   */
  until(status: number, ...failed: string[]): Promise<Readiness> {
    return this.poll(
      [status, ...failed].join(' '),
      (ready) => ready.status === status && failed.every((one) => ready.failed.includes(one)),
    );
  }

  /**
   * Polls /readyz until the store has a problem whose message has this text. Returns the whole message.
   *
   * @throws Error with the last response if that does not come
   */
  async untilProblem(reason: string): Promise<string> {
    const read = ({ details }: Readiness) => String(details.store?.message);
    const found = await this.poll(
      reason,
      (ready) => ready.failed.includes('store') && read(ready).includes(reason),
    );
    return read(found);
  }

  private async poll(what: string, has: (found: Readiness) => boolean): Promise<Readiness> {
    let found = await this.ready();
    for (let left = POLLS; !has(found); left--) {
      if (left === 0) throw new Error(`no ${what}, but ${JSON.stringify(found)}`);
      await sleep(POLL_MS);
      found = await this.ready();
    }
    return found;
  }

  async metrics(): Promise<Metrics> {
    const { status, text: body } = await this.send('GET', '/metrics');
    if (status !== 200) throw new Error(`/metrics responded with ${status}`);
    return parseMetrics(body);
  }
}

/** Exposed samples by name and labels, such as `requests_total{status="200"}`. */
export type Metrics = ReadonlyMap<string, number>;

/**
 * Reads Prometheus's text format, as prom-client writes it. Another test has promtool check it.
 *
 * @throws Error if a sample comes twice or has no number
 */
export function parseMetrics(text: string): Metrics {
  const metrics = new Map<string, number>();
  for (const [, sample = '', value = ''] of text.matchAll(/^([^#\n].*) (\S+)$/gm)) {
    const number = value === 'Nan' ? NaN : Number(value);
    if (metrics.has(sample) || (value !== 'Nan' && Number.isNaN(number)))
      throw new Error(`wrong: ${sample} ${value}`);
    metrics.set(sample, number);
  }
  return metrics;
}

/** The samples of a metric with their labels. */
export function samplesOf(metrics: Metrics, name: string): [sample: string, value: number][] {
  return [...metrics].filter(([sample]) => sample.replace(/\{.*/, '') === name);
}

/** The value of a sample. @throws Error if it is missing: an alert on its value would never fire */
export function valueOf(metrics: Metrics, sample: string): number {
  const value = metrics.get(sample);
  if (value === undefined) throw new Error(`missing: ${sample}`);
  return value;
}
