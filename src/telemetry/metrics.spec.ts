import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { parseMetrics } from '../../test/support/exposition.js';
import { read } from '../../test/support/published.js';
import { Config } from '../config/config.js';
import { Metrics } from './metrics.js';
import { METRICS, type MetricKind } from './metric-kinds.js';

const KINDS: MetricKind[] = Object.values(METRICS);
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

/** What a process exposes of which nothing has happened yet. */
function exposed() {
  const gauges = { queued: () => 0, isStoreUp: () => Promise.resolve(true) };
  return new Metrics(new Config(), gauges).registry.metrics().then(parseMetrics);
}

it('docs/monitoring.md has every metric, its type, labels and help', () => {
  const rows = [...page.matchAll(ROW)].map(([, name, type, labels = '', help]) => ({
    name,
    type,
    labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
    help,
  }));
  expect(rows).toEqual(KINDS.map(({ name, type, labels, help }) => ({ name, type, labels, help })));
});

it('the table of metrics is what a process exposes, besides what is of Node', async () => {
  const all = [...(await exposed())].filter(([name]) => name.startsWith('plant_store_'));
  expect(all.map(([name, { type, help }]) => ({ name, type, help }))).toEqual(
    Object.values(METRICS).map(({ name, type, help }) => ({ name, type, help })),
  );
});

it('names are as Prometheus has them', () => {
  for (const { name, type } of KINDS) {
    expect(name).toMatch(/^plant_store_[a-z_]+$/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
  }
});

describe.each([
  ['the alerts', rules.map(({ expr }) => expr).join('\n')],
  ['the dashboard', dashboard],
])('%s', (_name, text) => {
  it('ask for metrics that there are', async () => {
    const metrics = await exposed();
    const known = [...metrics].flatMap(([name, { type }]) =>
      type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name],
    );
    const used = new Set(text.match(NAME));
    expect(used.size).toBeGreaterThan(5);
    expect([...used].filter((name) => !known.includes(name))).toEqual([]);
  });
});

it('the dashboard shows every metric of a process', () => {
  const unseen = Object.values(METRICS).filter(({ name }) => !dashboard.includes(name));
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
