/** A metric as it was exposed: its samples by their text, such as `requests_total{status="200"}`. */
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
 * @throws Error which has the line that is wrong
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

/** The value of a sample; 0 where there is none. */
export function valueOf(metrics: Metrics, sample: string): number {
  const name = sample.replace(/\{.*/, '');
  const metric = metrics.get(name) ?? metrics.get(name.replace(/_(bucket|sum|count)$/, ''));
  return metric?.samples.get(sample) ?? 0;
}
