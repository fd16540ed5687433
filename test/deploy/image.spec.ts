/** @engine sqlite */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import {
  deployedConfig,
  IMAGE,
  IMAGE_ENV,
  INSTRUCTIONS,
  pairsOf,
  textsOf,
  VERSION,
} from '../support/deployment.js';
import { listen } from '../support/local-server.js';
import { read } from '../support/published.js';

const MANIFEST = JSON.parse(read('package.json')) as {
  optionalDependencies: Record<string, string>;
  scripts: { start: string };
};

/** The command and its arguments of an instruction in exec form. */
function commandOf(name: string): string[] {
  const [text = ''] = textsOf(IMAGE, name);
  return JSON.parse(text.slice(text.indexOf('['))) as string[];
}

describe('the image', () => {
  const config = deployedConfig(IMAGE_ENV);

  it('starts the service as npm start does, under an init', () => {
    expect(commandOf('CMD')).toEqual(['plant-store', 'serve']);
    expect(MANIFEST.scripts.start).toBe('exec bin/start');
    expect(read('bin/start')).toMatch(/\nexec bin\/plant-store serve "\$@"\n$/);
    expect(commandOf('ENTRYPOINT')).toEqual(['tini', '--']);
  });

  it('runs in production mode, listens on all addresses, and declares its ports', () => {
    expect(config).toMatchObject({ production: true, host: '0.0.0.0', managementHost: '0.0.0.0' });
    expect(textsOf(IMAGE, 'EXPOSE')).toEqual([`${config.port} ${config.managementPort}`]);
  });

  it('keeps the default store in the volume, and leaves DATABASE_URL to DATABASE_URL_FILE', () => {
    const [folder = ''] = textsOf(IMAGE, 'WORKDIR');
    expect(textsOf(IMAGE, 'VOLUME')).toEqual([`${folder}/data`]);
    expect(config.databaseUrl).toBe('sqlite:./data/plant-store.sqlite');
    expect(IMAGE_ENV).not.toHaveProperty('DATABASE_URL');
  });

  it('runs as a numeric user other than root, and nothing is run as root after that', () => {
    expect(textsOf(IMAGE, 'USER')).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
    const user = IMAGE.findIndex(({ name }) => name === 'USER');
    expect(IMAGE.slice(user).map(({ name }) => name)).not.toContain('RUN');
  });

  it('has its version and its commit', () => {
    expect(pairsOf(textsOf(IMAGE, 'ARG'))).toMatchObject({ VERSION });
    expect(pairsOf(textsOf(IMAGE, 'LABEL'))).toMatchObject({
      'org.opencontainers.image.version': '${VERSION}',
      'org.opencontainers.image.revision': '${REVISION}',
    });
    expect(IMAGE_ENV.GIT_COMMIT).toBe('${REVISION}');
  });

  it('has the Node.js of package.json, and production dependencies only', () => {
    const stages = textsOf(INSTRUCTIONS, 'FROM').map((text) => text.split(' '));
    const own = stages.map(([, , name]) => name);
    const bases = stages.map(([base]) => base).filter((base) => !own.includes(base));
    for (const base of bases) expect(base).toMatch(/^node:\$\{NODE_VERSION\}(-|$)/);
    const [version = ''] = textsOf(INSTRUCTIONS, 'ARG');
    for (const node of Object.values(MANIFEST.optionalDependencies))
      expect(version).toBe(`NODE_VERSION=${node}`);
    const installs = textsOf(INSTRUCTIONS, 'RUN').filter((text) => text.includes('npm ci'));
    expect(installs[1]).toContain('npm ci --omit=dev --omit=optional');
  });

  it('is built from files that exist, and .dockerignore lets no others through', () => {
    const copied = textsOf(INSTRUCTIONS, 'COPY')
      .filter((text) => !text.startsWith('--from='))
      .flatMap((text) => text.split(' ').slice(0, -1));
    expect(copied.filter((path) => !existsSync(path))).toEqual([]);
    const [, ...rules] = read('.dockerignore').match(/^[^#\n].*/gm) ?? [];
    const passed = rules.filter((rule) => rule.startsWith('!'));
    expect(new Set(passed)).toEqual(new Set(copied.map((path) => `!${path}`)));
  });

  it.each([
    ['200 of /livez', 0, 200],
    ['503 of /livez', 1, 503],
    ['no response', 1, undefined],
  ])('takes %s for exit code %i of the health check', async (_name, code, status) => {
    const server = createServer(({ url }, response) =>
      response.writeHead(url === '/livez' ? (status ?? 500) : 404).end(),
    );
    const port = await listen(server);
    const [, ...args] = commandOf('HEALTHCHECK');
    // Nothing listens on port 1 (tcpmux).
    const env = { MANAGEMENT_PORT: `${status ? port : 1}` };
    const check = spawn(process.execPath, args, { env });
    expect(await once(check, 'exit')).toEqual([code, null]);
    server.close();
  });
});
