import type { MetricValue } from './expose.js';

/** How often values came, by size: what a histogram of Prometheus is made of. */
export class Distribution {
  private readonly counts: number[];
  private sum = 0;

  /** @param bounds the upper bounds of the buckets, rising; one without a bound is added */
  constructor(private readonly bounds: readonly number[]) {
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
    this.sum += value;
  }

  /** Buckets count all values up to their bound (prometheus.io/docs/concepts/metric_types). */
  values(name: string, labels: MetricValue['labels'] = {}): MetricValue[] {
    let count = 0;
    const buckets = this.counts.map((own, bucket) => {
      count += own;
      const le = this.bounds[bucket] ?? '+Inf';
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}
