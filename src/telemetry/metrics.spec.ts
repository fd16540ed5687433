/** @engine sqlite */
import { afterAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { parseMetrics, valueOf } from '../../test/support/monitor.js';
import { read } from '../../test/support/published.js';
import { tokenLookups } from '../auth/channels.js';
import { Config } from '../config/config.js';
import { Metrics } from './metrics.js';

const ROW = /^\| `([a-z_]+)` +\| (counter|gauge|histogram) +\| (.*?) +\| (\S.*?) +\|$/gm;
const NAME = /\b(?:plant_store|process|nodejs)_\w+/g;

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook', string>>;
}

const page = read('docs/monitoring.md');
const rules = (
  parse(read('deploy/prometheus/alerts.yaml')) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);
const dashboard = read('deploy/grafana/plant-store.json');

const gauges = { queued: () => 0, isStoreUp: () => Promise.resolve(true) };
const metrics = new Metrics(new Config(), gauges);
afterAll(() => metrics.close());

/** Those of ours, besides Node's own; `labelNames` are missing from the library's types. */
const OURS = metrics.registry
  .getMetricsAsArray()
  .map((metric) => metric as typeof metric & { readonly labelNames: string[] })
  .filter(({ name }) => name.startsWith('plant_store_'));

/** What a process exposes of which nothing has happened yet. */
function exposed() {
  return metrics.registry.metrics().then(parseMetrics);
}

it('docs/monitoring.md has every metric, its type, labels and help', () => {
  const rows = [...page.matchAll(ROW)].map(([, name, type, labels = '', help]) => ({
    name,
    type,
    labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
    help,
  }));
  const exposedRows = OURS.map(({ name, type, labelNames: labels, help }) => {
    return { name, type: String(type), labels, help };
  });
  expect(rows.sort(byName)).toEqual(exposedRows.sort(byName));
});

it('every one is exposed from the start', async () => {
  const all = [...(await exposed()).keys()].filter((name) => name.startsWith('plant_store_'));
  expect(all.sort()).toEqual(OURS.map(({ name }) => name).sort());
});

it('counts what its own application publishes, until it is closed', async () => {
  const config = new Config();
  const counting = new Metrics(config, gauges);
  tokenLookups.publish({ config, result: 'hit' });
  tokenLookups.publish({ config: new Config(), result: 'hit' });
  counting.close();
  tokenLookups.publish({ config, result: 'hit' });
  const counted = parseMetrics(await counting.registry.metrics());
  expect(valueOf(counted, 'plant_store_token_cache_lookups_total{result="hit"}')).toBe(1);
});

it('names are as Prometheus has them', () => {
  for (const { name, type } of OURS) {
    expect(name).toMatch(/^plant_store_[a-z_]+$/);
    expect(name.endsWith('_total')).toBe(String(type) === 'counter');
  }
});

describe.each([
  ['the alerts', rules.map(({ expr }) => expr).join('\n')],
  ['the dashboard', dashboard],
])('%s', (_name, text) => {
  it('ask for metrics that there are', async () => {
    const known = [...(await exposed())].flatMap(([name, { type }]) =>
      type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name],
    );
    const used = new Set(text.match(NAME));
    expect(used.size).toBeGreaterThan(5);
    expect([...used].filter((name) => !known.includes(name))).toEqual([]);
  });
});

it('the dashboard shows every metric of a process', () => {
  const unseen = OURS.filter(({ name }) => !dashboard.includes(name));
  expect(unseen).toEqual([]);
});

describe('each alert', () => {
  it('is explained in docs/monitoring.md, and no other is', () => {
    const explained = [...page.matchAll(/^### (PlantStore\w+)$/gm)].map(([, name]) => name);
    expect(rules.map(({ alert }) => alert)).toEqual(explained);
  });

  it.each(rules)('$alert has a time, a severity, and words for the operator', (rule) => {
    expect(rule.for).toMatch(/^\d+m$/);
    expect(rule.labels.severity).toMatch(/^(critical|warning)$/);
    expect(rule.annotations).toEqual({
      summary: expect.stringMatching(/\S/),
      description: expect.stringMatching(/\S/),
      runbook: `docs/monitoring.md#${rule.alert.toLowerCase()}`,
    });
  });

  it.each(rules)('$alert has a test', ({ alert }) => {
    expect(read('deploy/prometheus/alerts.test.yaml')).toContain(`alertname: ${alert}`);
  });
});

function byName(one: { readonly name?: string | undefined }, other: typeof one): number {
  return (one.name ?? '').localeCompare(other.name ?? '');
}
