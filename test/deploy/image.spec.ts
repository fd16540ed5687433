/** @engine sqlite */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  argumentsOf,
  deployedConfig,
  IMAGE_ENV,
  pairsOf,
  stagesOf,
  textsOf,
} from '../support/deployment.js';
import { read } from '../support/published.js';

const STAGES = stagesOf(read('Dockerfile'));
const FINAL = STAGES.at(-1) ?? [];
const MANIFEST = JSON.parse(read('package.json')) as {
  description: string;
  license: string;
  name: string;
  optionalDependencies: Record<string, string>;
  scripts: { start: string };
  version: string;
};

describe('the image', () => {
  const config = deployedConfig(IMAGE_ENV);

  it('starts the service as npm start does, under an init', () => {
    expect(argumentsOf(textsOf(FINAL, 'CMD')[0])).toEqual(['plant-store', 'serve']);
    expect(MANIFEST.scripts.start).toBe('exec bin/start');
    expect(read('bin/start')).toMatch(/\nexec bin\/plant-store serve\n$/);
    expect(argumentsOf(textsOf(FINAL, 'ENTRYPOINT')[0])).toEqual(['tini', '--']);
  });

  it('runs in production mode, listens on all addresses, and declares its ports', () => {
    expect(config).toMatchObject({ production: true, host: '0.0.0.0', managementHost: '0.0.0.0' });
    expect(textsOf(FINAL, 'EXPOSE')).toEqual([`${config.port} ${config.managementPort}`]);
  });

  it('keeps the default store in the volume, and leaves DATABASE_URL to DATABASE_URL_FILE', () => {
    const [folder = ''] = textsOf(FINAL, 'WORKDIR');
    expect(textsOf(FINAL, 'VOLUME')).toEqual([`${folder}/data`]);
    expect(config.databaseUrl).toBe('sqlite:./data/plant-store.sqlite');
    expect(IMAGE_ENV).not.toHaveProperty('DATABASE_URL');
  });

  it('runs as a numeric user other than root, and nothing is run as root after that', () => {
    expect(textsOf(FINAL, 'USER')).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
    const user = FINAL.findIndex(({ name }) => name === 'USER');
    expect(FINAL.slice(user).map(({ name }) => name)).not.toContain('RUN');
  });

  it('has labels with its name, licence, version and commit', () => {
    const { VERSION } = pairsOf(textsOf(FINAL, 'ARG'));
    expect(VERSION).toBe(MANIFEST.version);
    expect(pairsOf(textsOf(FINAL, 'LABEL'))).toMatchObject({
      'org.opencontainers.image.title': MANIFEST.name,
      'org.opencontainers.image.description': MANIFEST.description,
      'org.opencontainers.image.licenses': MANIFEST.license,
      'org.opencontainers.image.version': '${VERSION}',
      'org.opencontainers.image.revision': '${REVISION}',
    });
    expect(IMAGE_ENV.GIT_COMMIT).toBe('${REVISION}');
  });

  it('has the Node.js of package.json, and production dependencies only', () => {
    const bases = STAGES.flatMap((stage) => textsOf(stage, 'FROM')).map(
      (text) => text.split(' ')[0],
    );
    const own = STAGES.flatMap((stage) => textsOf(stage, 'FROM')).map((text) => text.split(' ')[2]);
    const outside = bases.filter((base) => !own.includes(base));
    expect(new Set(outside.map((base) => base?.split('-')[0]))).toEqual(
      new Set(['node:${NODE_VERSION}']),
    );
    const { NODE_VERSION } = pairsOf(textsOf(STAGES[0] ?? [], 'ARG'));
    expect(new Set(Object.values(MANIFEST.optionalDependencies))).toEqual(new Set([NODE_VERSION]));
    const installs = STAGES.flatMap((stage) => textsOf(stage, 'RUN')).filter((run) =>
      run.includes('npm ci'),
    );
    expect(installs[1]).toContain('npm ci --omit=dev --omit=optional');
  });

  const context = STAGES.flatMap((stage) => textsOf(stage, 'COPY'))
    .filter((text) => !text.startsWith('--from='))
    .flatMap((text) => text.split(' ').slice(0, -1));

  it.each(context)('%s exists, and .dockerignore lets it through', (path) => {
    expect(existsSync(new URL(`../../${path}`, import.meta.url))).toBe(true);
    expect(read('.dockerignore').split('\n')).toContain(`!${path.replace('./', '')}`);
  });

  it('is built from nothing else', () => {
    const [, ...rules] = read('.dockerignore')
      .split('\n')
      .filter((line) => /^[^#]/.test(line));
    const passed = rules.filter((rule) => rule.startsWith('!')).map((rule) => rule.slice(1));
    expect(new Set(passed)).toEqual(new Set(context));
  });
});

describe('the health check of the image', () => {
  const [, ...args] = argumentsOf(textsOf(FINAL, 'HEALTHCHECK')[0]);
  let status = 200;
  const server = createServer((request, response) =>
    response.writeHead(request.url === '/livez' ? status : 404).end(),
  );
  beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => void server.close());

  async function check(port: number): Promise<unknown> {
    const env = { MANAGEMENT_PORT: String(port) };
    const [code] = (await once(spawn(process.execPath, args, { env }), 'exit')) as [number];
    return code;
  }

  it.each([
    [200, 0],
    [503, 1],
  ])('takes status %i of /livez for exit code %i', async (response, code) => {
    status = response;
    expect(await check((server.address() as AddressInfo).port)).toBe(code);
  });

  it('takes no response for exit code 1', async () => {
    // Nothing listens on port 1 (tcpmux).
    expect(await check(1)).toBe(1);
  });
});
