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
  readonly configs?: readonly { readonly source: string; readonly target: string }[];
  readonly stop_grace_period?: string;
}

const COMPOSE = parse(read('compose.yaml'), { merge: true }) as {
  services: Record<string, Service> & { 'plant-store': Service };
  configs: Record<string, { content: string }>;
  secrets: Record<string, { file: string }>;
  volumes: Record<string, unknown>;
};
const SERVICES = Object.entries(COMPOSE.services);
const contentOf = (name: string): string => COMPOSE.configs[name]?.content ?? '';

describe('compose.yaml', () => {
  const service = COMPOSE.services['plant-store'];
  const config = deployedConfig({ ...IMAGE_ENV, ...service.environment });

  it('publishes the proxy of the service, and nothing else of it', () => {
    const { ports = [] } = COMPOSE.services['proxy'] ?? {};
    const [, listens] = /^listen (\d+) backlog=4096;$/m.exec(contentOf('proxy-server')) ?? [];
    expect(ports).toEqual([`127.0.0.1:3000:${listens}`]);
    expect(config.publicUrl).toBe('http://127.0.0.1:3000');
    expect(config.trustProxy).toBe(1);
    expect(service.ports).toBeUndefined();
    // test/proxy/sites.spec.ts runs nginx with these.
    expect(contentOf('proxy-upstream')).toBe(`server plant-store:${config.port} max_fails=0;\n`);
  });

  it('runs the version of the package, and gives it enough time to stop', () => {
    expect(service.image).toBe(`plant-store:${VERSION}`);
    expect(parseDuration(service.stop_grace_period ?? '')).toBeGreaterThan(longestStop(config));
  });

  it('has Prometheus read the management port, and Grafana read Prometheus', () => {
    const parsed = (path: string): unknown => parse(read(`deploy/${path}.yaml`));
    const targets = [{ names: ['plant-store'], port: config.managementPort }];
    expect(parsed('prometheus/prometheus')).toMatchObject({
      scrape_configs: [{ dns_sd_configs: targets }],
    });
    expect(parsed('grafana/provisioning/datasources/prometheus')).toMatchObject({
      datasources: [{ url: 'http://prometheus:9090' }],
    });
    const path = '/etc/grafana/dashboards';
    expect(parsed('grafana/provisioning/dashboards/plant-store')).toMatchObject({
      providers: [{ options: { path } }],
    });
    expect(COMPOSE.services['grafana']?.volumes).toContain(`./deploy/grafana:${path}:ro`);
  });

  describe.each(SERVICES)('%s', (_name, made) => {
    const { image, ports = [], secrets = [], volumes = [], configs = [], depends_on = {} } = made;

    it('has an image of one version, and names files, volumes and configs that exist', () => {
      expect(image).toMatch(/:v?\d+\.\d+(\.\d+)?(-\w+)?$/);
      for (const [source = ''] of volumes.map((volume) => volume.split(':'))) {
        if (source.startsWith('./')) expect(existsSync(source)).toBe(true);
        else expect(COMPOSE.volumes).toHaveProperty(source);
      }
      for (const { source } of configs) expect(COMPOSE.configs).toHaveProperty(source);
    });

    it('is reachable from this machine only, writes only where it must, and gains no privileges', () => {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
      expect(made).toMatchObject({
        // Compose copies configs into the container (docker/compose#12031).
        read_only: configs.length === 0,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        restart: 'unless-stopped',
      });
      // git ignores the files of secrets.
      for (const name of secrets) expect(COMPOSE.secrets[name]?.file).toBe(`./secrets/${name}`);
      expect(read('.gitignore').split('\n')).toContain('secrets/');
    });

    it('starts after its dependencies are healthy', () => {
      for (const [needed, how] of Object.entries(depends_on)) {
        expect(how).toMatchObject({ condition: 'service_healthy' });
        // That of the service is in its image.
        if (needed !== 'plant-store')
          expect(COMPOSE.services[needed]).toHaveProperty('healthcheck');
      }
    });
  });
});
