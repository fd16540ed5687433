import { readdirSync } from 'node:fs';
import { parse } from 'yaml';
import { read } from './published.js';

/** The folder of the manifests. */
export const KUBERNETES = 'deploy/kubernetes';

type Labels = Readonly<Record<string, string>>;

/** A pod, as far as tests look at it. */
export interface Pod {
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
export function manifest(path: string): Record<string, unknown> {
  return parse(read(`${KUBERNETES}/${path}`), { merge: true }) as Record<string, unknown>;
}

/** The pod that a Deployment, a Job or a CronJob makes. */
export function podOf(path: string): Pod {
  const spec = manifest(path)['spec'] as {
    template: Pod;
    jobTemplate?: { spec: { template: Pod } };
  };
  return (spec.jobTemplate?.spec ?? spec).template;
}

/** The paths of all manifests. */
export function manifests(): string[] {
  const top = new URL(`../../${KUBERNETES}`, import.meta.url);
  const names = readdirSync(top, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.yaml'));
}

/** Whether a selector of a manifest takes a pod. */
export function selects(labels: Labels, pod: Pod): boolean {
  return Object.entries(labels).every(([name, value]) => pod.metadata.labels[name] === value);
}
