/** @engine sqlite */
import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { parseDuration } from '../../src/config/parsers.js';
import { deployedConfig, IMAGE_ENV, longestStop, VERSION } from '../support/deployment.js';
import { read } from '../support/published.js';

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly configs?: readonly { readonly source: string }[];
  readonly healthcheck?: unknown;
  readonly stop_grace_period?: string;
}

const COMPOSE = parse(read('compose.yaml'), { merge: true }) as {
  services: Record<string, Service> & { 'plant-store': Service };
  configs: Record<string, { content: string }>;
  secrets: Record<string, { file: string }>;
  volumes: Record<string, unknown>;
};
const contentOf = (name: string): string => COMPOSE.configs[name]?.content ?? '';

describe('compose.yaml', () => {
  const service = COMPOSE.services['plant-store'];
  const config = deployedConfig({ ...IMAGE_ENV, ...service.environment });

  it('publishes the proxy of the service, at its public URL, and nothing else of it', () => {
    const { ports } = COMPOSE.services['proxy'] ?? {};
    const [, listens] = /^listen (\d+) backlog=4096;$/m.exec(contentOf('proxy-server')) ?? [];
    expect(ports).toEqual([`${new URL(config.publicUrl ?? '').host}:${listens}`]);
    expect(service.ports).toBeUndefined();
    // test/proxy/sites.spec.ts runs nginx with these.
    expect(contentOf('proxy-upstream')).toBe(`server plant-store:${config.port} max_fails=0;\n`);
  });

  it('runs the version of the package, and gives it enough time to stop', () => {
    expect(service.image).toBe(`plant-store:${VERSION}`);
    expect(parseDuration(service.stop_grace_period ?? '')).toBeGreaterThan(longestStop(config));
  });

  it('has Prometheus read the management port, and Grafana the dashboards', () => {
    const parsed = (path: string): unknown => parse(read(`deploy/${path}.yaml`));
    const targets = [{ names: ['plant-store'], port: config.managementPort }];
    expect(parsed('prometheus/prometheus')).toMatchObject({
      scrape_configs: [{ dns_sd_configs: targets }],
    });
    const path = '/etc/grafana/dashboards';
    expect(parsed('grafana/provisioning/dashboards/plant-store')).toMatchObject({
      providers: [{ options: { path } }],
    });
    expect(COMPOSE.services['grafana']?.volumes).toContain(`./deploy/grafana:${path}:ro`);
  });

  it.each(Object.entries(COMPOSE.services))(
    '%s names what exists, has no secret in git, and is reachable from this machine only',
    (_name, made) => {
      for (const [source = ''] of (made.volumes ?? []).map((volume) => volume.split(':'))) {
        if (source.startsWith('./')) expect(existsSync(source)).toBe(true);
        else expect(COMPOSE.volumes).toHaveProperty(source);
      }
      for (const port of made.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
      for (const { source } of made.configs ?? []) expect(COMPOSE.configs).toHaveProperty(source);
      for (const name of made.secrets ?? [])
        expect(COMPOSE.secrets[name]?.file).toBe(`./secrets/${name}`);
      expect(read('.gitignore').split('\n')).toContain('secrets/');
      // The service has its health check in its image.
      for (const name of Object.keys(made.depends_on ?? {}))
        if (name !== 'plant-store') expect(COMPOSE.services[name]?.healthcheck).toBeDefined();
    },
  );
});
