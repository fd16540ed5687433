/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { read } from '../../test/support/published.js';
import { Config } from '../config/config.js';
import { createMetrics } from './metrics.js';
import { ServiceState } from './service-state.js';

const ROW = /^\| `([a-z_]+)(?:\{([\w,]+)\})?` +\| (counter|gauge|histogram) +\| (\S.*?) +\|$/gm;
const NAME = /\b(?:plant_store|process|nodejs)_\w+/g;

interface Rule extends Readonly<Record<'alert' | 'expr' | 'for', string>> {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: object;
}

const page = read('docs/monitoring.md');
const rules = (
  parse(read('deploy/prometheus/alerts.yaml')) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);
const dashboard = read('deploy/grafana/plant-store.json');

const metrics = createMetrics(new ServiceState(new Config()));

/** The service's own metrics, without Node's. The library's types lack `labelNames`. */
const OURS = metrics
  .getMetricsAsArray()
  .map((metric) => metric as typeof metric & { readonly labelNames: string[] })
  .filter(({ name }) => name.startsWith('plant_store_'));

it('docs/monitoring.md has every metric, its type, labels and help', () => {
  const rows = [...page.matchAll(ROW)].map(([, name, labels = '', type, help]) => ({
    name,
    type,
    labels: labels.split(',').filter(Boolean),
    help,
  }));
  const exposedRows = OURS.map(({ name, type, labelNames: labels, help }) => {
    return { name, type: String(type), labels, help };
  });
  expect(rows.sort(byName)).toEqual(exposedRows.sort(byName));
});

it('every metric is exposed from the start', async () => {
  const all = [...(await metrics.metrics()).matchAll(/^# TYPE (plant_store_\w+)/gm)];
  expect(all.map(([, name]) => name).sort()).toEqual(OURS.map(({ name }) => name).sort());
});

it.each([
  ['the alerts', rules.map(({ expr }) => expr).join('\n')],
  ['the dashboard', dashboard],
])('%s use only metrics that exist', (_name, text) => {
  const known = metrics
    .getMetricsAsArray()
    .flatMap(({ name, type }) =>
      String(type) === 'histogram'
        ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`)
        : [name],
    );
  const used = new Set(text.match(NAME));
  expect(used.size).toBeGreaterThan(5);
  expect([...used].filter((name) => !known.includes(name))).toEqual([]);
});

it('the dashboard shows every metric of a process', () => {
  const unseen = OURS.filter(({ name }) => !dashboard.includes(name));
  expect(unseen).toEqual([]);
});

describe('each alert', () => {
  it('is explained in docs/monitoring.md, and no other alert is', () => {
    const explained = [...page.matchAll(/^### (PlantStore\w+)$/gm)].map(([, name]) => name);
    expect(rules.map(({ alert }) => alert)).toEqual(explained);
  });

  it.each(rules)('$alert has a time, a severity, words for the operator, and a test', (rule) => {
    expect(rule.for).toMatch(/^\d+m$/);
    expect(rule.labels.severity).toMatch(/^(critical|warning)$/);
    expect(rule.annotations).toEqual({
      summary: expect.stringMatching(/\S/),
      description: expect.stringMatching(/\S/),
      runbook: `docs/monitoring.md#${rule.alert.toLowerCase()}`,
    });
    expect(read('deploy/prometheus/alerts.test.yaml')).toContain(`alertname: ${rule.alert}`);
  });
});

function byName(one: { readonly name?: string | undefined }, other: typeof one): number {
  return (one.name ?? '').localeCompare(other.name ?? '');
}
