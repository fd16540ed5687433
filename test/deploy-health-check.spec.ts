import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { argumentsOf, stagesOf, textsOf } from './support/dockerfile.js';
import { read } from './support/published.js';

const FINAL = stagesOf(read('Dockerfile')).at(-1) ?? [];

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
  ])('takes %i of /livez for %i', async (answer, code) => {
    status = answer;
    expect(await check((server.address() as AddressInfo).port)).toBe(code);
  });

  it('takes no answer for 1', async () => {
    // Port 1 (tcpmux) is nobody's.
    expect(await check(1)).toBe(1);
  });
});
