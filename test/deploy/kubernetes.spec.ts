/** @engine sqlite */
import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import {
  deployedConfig,
  IMAGE,
  IMAGE_ENV,
  longestStop,
  textsOf,
  variablesOf,
  VERSION,
} from '../support/deployment.js';
import { read } from '../support/published.js';

const FOLDER = 'deploy/kubernetes';

/** The parts of a pod that the tests read. */
interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly terminationGracePeriodSeconds?: number;
    readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number };
    readonly containers: readonly [Container];
    readonly volumes: readonly unknown[];
  };
}

interface Container {
  readonly args?: readonly string[];
  readonly env: readonly [{ readonly name: string; readonly value: string }];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

/** The value of a member of a manifest. */
function valueOf(path: string, ...names: string[]): unknown {
  const manifest: unknown = parse(read(`${FOLDER}/${path}`), { merge: true });
  return names.reduce((value, name) => (value as Record<string, unknown>)[name], manifest);
}

const MANIFESTS = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.yaml'),
);
const DEPLOYMENT = 'service/deployment.yaml';
const SERVICE = valueOf(DEPLOYMENT, 'spec', 'template') as Pod;
const MIGRATE = valueOf('migrate/job.yaml', 'spec', 'template') as Pod;
const BACKUP = valueOf('backup/cronjob.yaml', 'spec', 'jobTemplate', 'spec', 'template') as Pod;
const [CONTAINER] = SERVICE.spec.containers;
const CONFIG = deployedConfig({
  ...IMAGE_ENV,
  ...variablesOf(read(`${FOLDER}/service/plant-store.env`)),
  ...Object.fromEntries(CONTAINER.env.map(({ name, value }) => [name, value])),
});

describe('the service on Kubernetes', () => {
  it('leaves the schema to the Job, and the number of processes to the autoscaler', () => {
    expect(CONFIG.migrate).toBe(false);
    expect(MIGRATE.spec.containers[0].args).toEqual(['plant-store', 'migrate']);
    expect(valueOf('service/horizontal-pod-autoscaler.yaml', 'spec')).toMatchObject({
      scaleTargetRef: { kind: 'Deployment', name: valueOf(DEPLOYMENT, 'metadata', 'name') },
    });
    expect(valueOf(DEPLOYMENT, 'spec')).not.toHaveProperty('replicas');
  });

  it('has the ports of its configuration', () => {
    const { port, managementPort } = CONFIG;
    expect(CONTAINER).toMatchObject({
      ports: [
        { name: 'http', containerPort: port },
        { name: 'management', containerPort: managementPort },
      ],
    });
    expect(valueOf('service/service.yaml', 'spec')).toMatchObject({
      ports: [{ targetPort: 'http' }],
    });
    expect(SERVICE.metadata).toMatchObject({
      annotations: { 'prometheus.io/port': String(managementPort) },
    });
    expect(valueOf('service/network-policy.yaml', 'spec')).toMatchObject({
      ingress: [port, managementPort].map((open) => ({ ports: [{ protocol: 'TCP', port: open }] })),
    });
  });

  it('has enough time to stop', () => {
    const { terminationGracePeriodSeconds: seconds = 30 } = SERVICE.spec;
    expect(seconds * 1_000).toBeGreaterThan(longestStop(CONFIG));
  });

  it.each([
    ['service/deployment.yaml', 'selector.matchLabels', false],
    ['service/service.yaml', 'selector', false],
    ['service/pod-disruption-budget.yaml', 'selector.matchLabels', false],
    ['service/network-policy.yaml', 'podSelector.matchLabels', true],
  ])('%s selects the pods of the service by %s; those of the Jobs: %s', (path, field, both) => {
    const labels = valueOf(path, 'spec', ...field.split('.')) as object;
    const selected = expect.objectContaining(labels);
    expect(SERVICE.metadata.labels).toEqual(selected);
    for (const { metadata } of [MIGRATE, BACKUP])
      expect(metadata.labels).toEqual(both ? selected : expect.not.objectContaining(labels));
  });
});

describe.each([
  ['the Deployment', SERVICE],
  ['the Job', MIGRATE],
  ['the CronJob', BACKUP],
])('a pod of %s', (_name, { spec }) => {
  it('runs as the user of the image', () => {
    const { runAsUser, runAsGroup } = spec.securityContext;
    expect(textsOf(IMAGE, 'USER')).toEqual([`${runAsUser}:${runAsGroup}`]);
  });

  it('reads the address of the store from the Secret, as a file', () => {
    const { env, volumeMounts } = spec.containers[0];
    expect(env).toEqual([
      { name: 'DATABASE_URL_FILE', value: `${volumeMounts[0]?.mountPath}/database-url` },
    ]);
    const secret = { secretName: 'plant-store-database', defaultMode: 0o440 };
    expect(spec.volumes[0]).toEqual({ name: volumeMounts[0]?.name, secret });
  });
});

it('the CronJob writes a backup to its volume', () => {
  const [{ args, volumeMounts }] = BACKUP.spec.containers;
  expect(args?.at(-1)).toContain(`plant-store backup "${volumeMounts[1]?.mountPath}/plants-`);
  expect(BACKUP.spec.volumes[1]).toEqual({
    name: volumeMounts[1]?.name,
    persistentVolumeClaim: { claimName: valueOf('backup/volume.yaml', 'metadata', 'name') },
  });
});

describe('kustomize', () => {
  it('includes every manifest, and no Secret', () => {
    const listed = MANIFESTS.filter((path) => path.endsWith('kustomization.yaml')).flatMap(
      (path) => {
        const files = (valueOf(path, 'resources') ?? []) as string[];
        return [path, ...files.map((file) => path.replace('kustomization.yaml', file))];
      },
    );
    expect(new Set(MANIFESTS)).toEqual(new Set([...listed, 'namespace.yaml']));
    expect(MANIFESTS.map((path) => valueOf(path, 'kind'))).not.toContain('Secret');
  });

  it('runs the version of the package, for the service and for the Jobs', () => {
    expect(valueOf('image/kustomization.yaml', 'images')).toMatchObject([
      { name: 'plant-store', newTag: VERSION },
    ]);
    for (const part of ['service', 'migrate', 'backup'])
      expect(valueOf(`${part}/kustomization.yaml`, 'components')).toEqual(['../image']);
  });
});
