import { AggregatorRegistry, type Registry } from 'prom-client';

/** A metric and its values, as a registry gives them and the channel between processes takes them. */
export type MetricData = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

/** One registry of those of several processes: each metric's own aggregator makes one value of several. */
export function mergeMetrics(all: MetricData[][]): Registry {
  return AggregatorRegistry.aggregate(all);
}

/** Those that only ever grow. They must not fall back when a process ends, or answers too late. */
export function cumulative(metrics: MetricData[]): MetricData[] {
  return metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
}
