import { describe, expect, it } from '@jest/globals';
import { deployedConfig, IMAGE_ENV, longestStop, variablesOf } from './support/deployed-config.js';
import { KUBERNETES, manifest, podOf, selects } from './support/kubernetes.js';
import { read } from './support/published.js';

const SERVICE = podOf('service/deployment.yaml');
const MIGRATE = podOf('migrate/job.yaml');
const [CONTAINER] = SERVICE.spec.containers;
const CONFIG = deployedConfig({
  ...IMAGE_ENV,
  ...variablesOf(read(`${KUBERNETES}/service/plant-store.env`)),
  ...Object.fromEntries(CONTAINER.env.map(({ name, value }) => [name, value])),
});

describe('the service on Kubernetes', () => {
  it('leaves the schema to the Job, and the number of processes to the autoscaler', () => {
    expect(CONFIG).toMatchObject({ migrate: false, reusePort: false, managementHost: '0.0.0.0' });
    expect(manifest('service/horizontal-pod-autoscaler.yaml')).toMatchObject({
      spec: { scaleTargetRef: { kind: 'Deployment', name: 'plant-store' }, minReplicas: 2 },
    });
    expect(manifest('service/deployment.yaml')['spec']).not.toHaveProperty('replicas');
    expect(MIGRATE.spec.containers[0].args).toEqual(['node', 'dist/src/cli.js', 'migrate']);
  });

  it('has the ports of its configuration', () => {
    const ports = CONTAINER.ports?.map(({ name, containerPort }) => [name, containerPort]);
    expect(ports).toEqual([
      ['http', CONFIG.port],
      ['management', CONFIG.managementPort],
    ]);
    expect(manifest('service/service.yaml')).toMatchObject({
      spec: { ports: [{ targetPort: 'http' }] },
    });
    expect(SERVICE.metadata).toMatchObject({
      annotations: { 'prometheus.io/port': String(CONFIG.managementPort) },
    });
    expect(manifest('service/network-policy.yaml')).toMatchObject({
      spec: {
        ingress: [
          { ports: [{ protocol: 'TCP', port: CONFIG.port }] },
          { ports: [{ protocol: 'TCP', port: CONFIG.managementPort }] },
        ],
      },
    });
  });

  it.each([
    ['startupProbe', '/livez'],
    ['livenessProbe', '/livez'],
    ['readinessProbe', '/readyz'],
  ] as const)('%s asks %s', (probe, path) => {
    expect(CONTAINER[probe]?.httpGet).toEqual({ path, port: 'management' });
  });

  it('has more time to stop than it may take', () => {
    expect(CONFIG.shutdownDelay).toBeGreaterThan(0);
    const { terminationGracePeriodSeconds: seconds = 30 } = SERVICE.spec;
    expect(seconds * 1_000).toBeGreaterThan(longestStop(CONFIG));
  });

  it.each([
    ['service/deployment.yaml', 'selector.matchLabels', false],
    ['service/service.yaml', 'selector', false],
    ['service/pod-disruption-budget.yaml', 'selector.matchLabels', false],
    ['service/network-policy.yaml', 'podSelector.matchLabels', true],
  ])('%s selects its pods; those of the Job too: %s %s', (path, field, both) => {
    const names = ['spec', ...field.split('.')];
    const labels = names.reduce<unknown>(
      (value, name) => (value as Record<string, unknown>)[name],
      manifest(path),
    ) as Record<string, string>;
    expect(selects(labels, SERVICE)).toBe(true);
    expect(selects(labels, MIGRATE)).toBe(both);
  });
});
