/** @engine sqlite */
import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import {
  deployedConfig,
  IMAGE_ENV,
  longestStop,
  stagesOf,
  textsOf,
  variablesOf,
} from '../support/deployment.js';
import { read } from '../support/published.js';

/** The folder of the manifests. */
const KUBERNETES = 'deploy/kubernetes';

type Labels = Readonly<Record<string, string>>;

/** The parts of a pod that the tests read. */
interface Pod {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly terminationGracePeriodSeconds?: number;
    readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number };
    readonly containers: readonly [Container];
    readonly volumes: readonly [{ readonly name: string; readonly secret: unknown }, ...unknown[]];
  };
}

interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
}

interface Container {
  readonly args?: readonly string[];
  readonly env: readonly [{ readonly name: string; readonly value: string }];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly [VolumeMount, ...VolumeMount[]];
  readonly [probe: `${string}Probe`]: { readonly httpGet: Readonly<Record<string, string>> };
}

/** A manifest of the folder, by its path from there. */
function manifest(path: string): Record<string, unknown> {
  return parse(read(`${KUBERNETES}/${path}`), { merge: true }) as Record<string, unknown>;
}

/** The pod that a Deployment, a Job or a CronJob makes. */
function podOf(path: string): Pod {
  const spec = manifest(path)['spec'] as {
    template: Pod;
    jobTemplate?: { spec: { template: Pod } };
  };
  return (spec.jobTemplate?.spec ?? spec).template;
}

/** The paths of all manifests. */
function manifests(): string[] {
  const top = new URL(`../../${KUBERNETES}`, import.meta.url);
  const names = readdirSync(top, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.yaml'));
}

/** Whether a selector of a manifest takes a pod. */
function selects(labels: Labels, pod: Pod): boolean {
  return Object.entries(labels).every(([name, value]) => pod.metadata.labels[name] === value);
}

const SERVICE = podOf('service/deployment.yaml');
const MIGRATE = podOf('migrate/job.yaml');
const BACKUP = podOf('backup/cronjob.yaml');
const [CONTAINER] = SERVICE.spec.containers;
const CONFIG = deployedConfig({
  ...IMAGE_ENV,
  ...variablesOf(read(`${KUBERNETES}/service/plant-store.env`)),
  ...Object.fromEntries(CONTAINER.env.map(({ name, value }) => [name, value])),
});

describe('the service on Kubernetes', () => {
  it('leaves the schema to the Job, and the number of processes to the autoscaler', () => {
    expect(CONFIG).toMatchObject({ migrate: false, managementHost: '0.0.0.0' });
    expect(manifest('service/horizontal-pod-autoscaler.yaml')).toMatchObject({
      spec: { scaleTargetRef: { kind: 'Deployment', name: 'plant-store' }, minReplicas: 2 },
    });
    expect(manifest('service/deployment.yaml')['spec']).not.toHaveProperty('replicas');
    expect(MIGRATE.spec.containers[0].args).toEqual(['plant-store', 'migrate']);
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
        egress: [{}, { ports: [{ port: 5432 }, { port: 6432 }] }],
      },
    });
  });

  it.each([
    ['startupProbe', '/livez'],
    ['livenessProbe', '/livez'],
    ['readinessProbe', '/readyz'],
  ] as const)('%s requests %s', (probe, path) => {
    expect(CONTAINER[probe]?.httpGet).toEqual({ path, port: 'management' });
  });

  it('has enough time to stop', () => {
    expect(CONFIG.shutdownDelay).toBeGreaterThan(0);
    const { terminationGracePeriodSeconds: seconds = 30 } = SERVICE.spec;
    expect(seconds * 1_000).toBeGreaterThan(longestStop(CONFIG));
  });

  it.each([
    ['service/deployment.yaml', 'selector.matchLabels', false],
    ['service/service.yaml', 'selector', false],
    ['service/pod-disruption-budget.yaml', 'selector.matchLabels', false],
    ['service/network-policy.yaml', 'podSelector.matchLabels', true],
  ])('%s selects the pods of the service by %s; those of the Jobs: %s', (path, field, both) => {
    const names = ['spec', ...field.split('.')];
    const labels = names.reduce<unknown>(
      (value, name) => (value as Record<string, unknown>)[name],
      manifest(path),
    ) as Record<string, string>;
    expect(selects(labels, SERVICE)).toBe(true);
    for (const job of [MIGRATE, BACKUP]) expect(selects(labels, job)).toBe(both);
  });
});

describe.each([
  ['the Deployment', SERVICE],
  ['the Job', MIGRATE],
  ['the CronJob', BACKUP],
])('a pod of %s', (_name, { spec }) => {
  it('runs as the user of the image, without privileges, on a read-only file system', () => {
    const user = `${spec.securityContext.runAsUser}:${spec.securityContext.runAsGroup}`;
    expect(textsOf(stagesOf(read('Dockerfile')).at(-1) ?? [], 'USER')).toEqual([user]);
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
          resources: { limits: { memory: '512Mi' } },
        },
      ],
    });
  });

  it('reads the address of the store from the Secret, as a file', () => {
    const { env, volumeMounts } = spec.containers[0];
    const [{ mountPath, name }] = volumeMounts;
    expect(env).toEqual([{ name: 'DATABASE_URL_FILE', value: `${mountPath}/database-url` }]);
    const secret = { secretName: 'plant-store-database', defaultMode: 0o440 };
    expect(spec.volumes[0]).toEqual({ name, secret });
  });
});

describe('the CronJob', () => {
  it('writes a backup to its volume', () => {
    const [container] = BACKUP.spec.containers;
    const [, { name, mountPath } = { name: '', mountPath: '' }] = container.volumeMounts;
    expect(container.args?.at(-1)).toContain(`plant-store backup "${mountPath}/plants-`);
    expect(container.args?.at(-1)).toContain('xargs -0 -n 1 plant-store backup --verify');
    const { metadata } = manifest('backup/volume.yaml') as { metadata: { name: string } };
    expect(BACKUP.spec.volumes[1]).toEqual({
      name,
      persistentVolumeClaim: { claimName: metadata.name },
    });
  });
});

describe('kustomize', () => {
  it('includes every manifest, and no Secret', () => {
    const kustomizations = manifests().filter((path) => path.endsWith('kustomization.yaml'));
    const listed = kustomizations.flatMap((path) => [
      path,
      ...((manifest(path)['resources'] ?? []) as string[]).map((file) =>
        path.replace('kustomization.yaml', file),
      ),
    ]);
    expect(new Set(manifests())).toEqual(new Set([...listed, 'namespace.yaml']));
    expect(manifests().map((path) => manifest(path)['kind'])).not.toContain('Secret');
  });

  it('runs the version of the package, for the service and for the Jobs', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(manifest('image/kustomization.yaml')).toMatchObject({
      images: [{ name: 'plant-store', newTag: version }],
    });
    for (const part of ['service', 'migrate', 'backup']) {
      expect(manifest(`${part}/kustomization.yaml`)['components']).toEqual(['../image']);
    }
  });
});
