import { describe, expect, it } from '@jest/globals';
import { stagesOf, textsOf } from './support/dockerfile.js';
import { manifest, manifests, podOf } from './support/kubernetes.js';
import { read } from './support/published.js';

describe.each([
  ['the Deployment', podOf('service/deployment.yaml')],
  ['the Job', podOf('migrate/job.yaml')],
])('a pod of %s', (_name, { spec }) => {
  it('runs as the user of the image, may do nothing, and can write nowhere', () => {
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

  it('has the address of the store from the Secret, as a file', () => {
    const { env, volumeMounts } = spec.containers[0];
    const [{ mountPath, name }] = volumeMounts;
    expect(env).toEqual([{ name: 'DATABASE_URL_FILE', value: `${mountPath}/database-url` }]);
    const secret = { secretName: 'plant-store-database', defaultMode: 0o440 };
    expect(spec.volumes).toEqual([{ name, secret }]);
  });
});

describe('kustomize', () => {
  it('has every manifest in a kustomization, and no Secret in any', () => {
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

  it('runs the version of the package, for the service and for the Job', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(manifest('image/kustomization.yaml')).toMatchObject({
      images: [{ name: 'plant-store', newTag: version }],
    });
    for (const part of ['service', 'migrate']) {
      expect(manifest(`${part}/kustomization.yaml`)['components']).toEqual(['../image']);
    }
  });
});
