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

  /** Polls /readyz until it has this status and these failed checks. */
  async until(status: number, ...failed: string[]): Promise<Readiness> {
    for (;;) {
      const readiness = await this.ready();
      if (readiness.status === status && failed.every((one) => readiness.failed.includes(one)))
        return readiness;
      await sleep(20);
    }
  }

  /** Number of token lookups so far: one for each request with a token. */
  async lookups(): Promise<number> {
    const counts = (await this.metrics()).get('plant_store_token_cache_lookups_total')?.samples;
    return [...(counts?.values() ?? [])].reduce((sum, count) => sum + count, 0);
  }

  async metrics(): Promise<Metrics> {
    const { status, text: body } = await this.send('GET', '/metrics');
    if (status !== 200) throw new Error(`/metrics responded with ${status}`);
    return parseMetrics(body);
  }
}

/** An exposed metric: its samples by name and labels, such as `requests_total{status="200"}`. */
export interface Exposed {
  readonly help: string;
  readonly type: string;
  readonly samples: Map<string, number>;
}

/** Every exposed metric, by its name. */
export type Metrics = Map<string, Exposed>;

const HELP = /^# HELP ([a-zA-Z_:][\w:]*) (.+)$/;
const TYPE = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram|summary)$/;
const LABELS =
  /\{[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*")*\}/;
const SAMPLE = new RegExp(`^([a-zA-Z_:][\\w:]*)((?:${LABELS.source})?) (\\S+)$`);
const PARTS: Readonly<Record<string, RegExp>> = { histogram: /^_(bucket|sum|count)$/ };

/**
 * Reads Prometheus's text format (prometheus.io/docs/instrumenting/exposition_formats), strictly.
 *
 * @throws Error with the wrong line
 */
export function parseMetrics(text: string): Metrics {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const metrics: Metrics = new Map();
  let help: RegExpExecArray | null = null;
  let name = '';
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const type = TYPE.exec(line);
    if (line.startsWith('# HELP')) help = HELP.exec(line);
    else if (type) {
      name = type[1] ?? '';
      if (help?.[1] !== name || metrics.has(name)) throw new Error(`out of place: ${line}`);
      metrics.set(name, { help: help[2] ?? '', type: type[2] ?? '', samples: new Map() });
    } else addSample(line, name, metrics.get(name));
  }
  return metrics;
}

function addSample(line: string, name: string, metric?: Exposed): void {
  const [, sample = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
  const part = sample.slice(name.length);
  const isPart = PARTS[metric?.type ?? '']?.test(part) ?? part === '';
  const number = value === 'Nan' ? NaN : Number(value.replace('Inf', 'Infinity'));
  const isNumber = value !== '' && (value === 'Nan' || !Number.isNaN(number));
  if (!metric || !sample.startsWith(name) || !isPart || !isNumber)
    throw new Error(`wrong: ${line}`);
  if (metric.samples.has(sample + labels)) throw new Error(`twice: ${line}`);
  metric.samples.set(sample + labels, number);
}

/** The value of a sample; 0 if missing. */
export function valueOf(metrics: Metrics, sample: string): number {
  const name = sample.replace(/\{.*/, '');
  const metric = metrics.get(name) ?? metrics.get(name.replace(/_(bucket|sum|count)$/, ''));
  return metric?.samples.get(sample) ?? 0;
}
