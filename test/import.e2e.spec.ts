import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runCli, type Ran } from './support/cli.js';
import { runHere } from './support/cli-in-process.js';
import { Proxy } from './support/proxy.js';
import { ServiceProcess } from './support/service-process.js';
import { Service } from './support/service.js';

const BEYOND = 2n ** 53n;

/** A line of NDJSON for each of so many plants, whose ids no double tells apart. */
function plants(count: number): string {
  const ids = Array.from({ length: count }, (_, i) => BEYOND + BigInt(i));
  return ids.map((id) => `{"id": ${id}, "name": "plant ${id}", "tag": "木"}\n`).join('');
}

let service: Service;
beforeEach(async () => {
  service = await Service.start();
});
afterEach(() => service.stop());

/** Imports a text with further arguments. */
function importing(input: string, args: string[] = [], port = service.port): Promise<Ran> {
  const env = { PLANT_STORE_URL: `http://127.0.0.1:${port}`, PLANT_STORE_TOKEN: service.token };
  writeFileSync(join(service.store.folder, 'input.ndjson'), input);
  return runHere(['import', 'input.ndjson', ...args], { cwd: service.store.folder, env });
}

describe('import', () => {
  it('stores the plants of a file with every digit, and none of them twice', async () => {
    const file = join(service.store.folder, 'plants.ndjson');
    writeFileSync(file, plants(630));
    const url = `http://127.0.0.1:${service.port}/`;
    const args = ['import', file, '--url', url, '--token', service.token];
    for (const time of ['first', 'second']) {
      expect({ time, ...(await runHere(args, { cwd: service.store.folder })) }).toEqual({
        time,
        code: 0,
        stdout: '630 plants are stored (sent 630, refused 0)\n',
        stderr: '',
      });
      const stored = await service.store.plants();
      expect(stored.map(({ id }) => id)).toEqual(
        Array.from({ length: 630 }, (_, i) => BEYOND + BigInt(i)),
      );
      expect(stored[1]).toEqual({ id: BEYOND + 1n, name: `plant ${BEYOND + 1n}`, tag: '木' });
    }
  });

  it('tells the line and the reason of every refused plant', async () => {
    const lines = ['{"id":1,"name":"Alder"}', '', 'nope', '{"id":1e99,"name":"x"}', '{"id":2}'];
    const { code, stdout, stderr } = await importing(lines.join('\n'), ['--rejects', 'r.ndjson']);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: '1 plant is stored (sent 4, refused 3)\n',
    });
    expect(stderr.trimEnd().split('\n').sort()).toEqual([
      'line 3: error 1000: the body is not valid JSON',
      'line 4: error 1003: id must be an integer from -2^63 to 2^63-1',
      'line 5: error 1003: name must be a string',
    ]);
    const rejects = readFileSync(join(service.store.folder, 'r.ndjson'), 'utf8').trimEnd();
    const parsed = rejects.split('\n').map((line) => JSON.parse(line) as { line: number });
    expect(parsed.sort((a, b) => a.line - b.line)).toEqual([
      { line: 3, error: 1000, message: 'the body is not valid JSON', plant: 'nope' },
      expect.objectContaining({ line: 4, error: 1003, plant: '{"id":1e99,"name":"x"}' }),
      { line: 5, error: 1003, message: 'name must be a string', plant: '{"id":2}' },
    ]);
  });

  it('sums up in JSON, on request', async () => {
    const { code, stdout } = await importing('{"id":1,"name":"Alder"}\nnope\n', ['--json']);
    expect({ code, sum: JSON.parse(stdout) as unknown }).toEqual({
      code: 1,
      sum: { stored: 1, refused: 1 },
    });
  });

  it('lists all refused plants where no file takes them, else the first', async () => {
    const refused = 'nope\n'.repeat(30);
    expect((await importing(refused)).stderr.trimEnd().split('\n')).toHaveLength(30);
    const { stderr } = await importing(refused, ['--rejects', 'r.ndjson']);
    const listed = stderr.trimEnd().split('\n');
    expect(listed).toHaveLength(21);
    expect(listed[20]).toBe('further refused plants are only in r.ndjson');
    const rejects = readFileSync(join(service.store.folder, 'r.ndjson'), 'utf8');
    expect(rejects.trimEnd().split('\n')).toHaveLength(30);
  });

  it('stops at once where the token is not valid', async () => {
    expect(await importing(plants(500), ['--token', 'plant_x'])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'error: stopped at line 1: the service answered 401, error 2001: invalid or expired token; ' +
        '0 plants are stored, 0 refused\n',
    });
  });

  it.each([
    ['nofile', /^error: ENOENT: [^\n]*nofile'\n$/],
    ['.', /^error: stopped: EISDIR: [^\n]*; 0 plants are stored, 0 refused\n$/],
  ])('fails in one line on the file %s', async (file, message) => {
    const args = ['import', file, '--token', 'x'];
    const { code, stderr } = await runHere(args, { cwd: service.store.folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });

  it('sends again what a broken connection left without an answer', async () => {
    // Each connection breaks after some answers, a few requests on their way.
    const proxy = await Proxy.start(service.port, 5);
    try {
      const { code, stdout } = await importing(plants(1_000), [], proxy.port);
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: '1000 plants are stored (sent 1000, refused 0)\n',
      });
      expect(proxy.broken).toBeGreaterThan(10);
      expect(await service.store.count()).toBe(1_000);
    } finally {
      await proxy.stop();
    }
  });

  it('says how far it came where the service stays unavailable', async () => {
    const proxy = await Proxy.start(service.port, 1);
    await proxy.stop();
    const { code, stderr } = await importing(plants(100), ['--tries', '2'], proxy.port);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: stopped at line 1: gave up after 2 attempts \(connect ECONNREFUSED [^\n]*\); 0 plants are stored, 0 refused\n$/,
    );
  });
});

it('an import outlives a service that is killed and started again', async () => {
  const first = await ServiceProcess.start();
  const { store, token, port } = first;
  const env = { PLANT_STORE_URL: `http://127.0.0.1:${port}`, PLANT_STORE_TOKEN: token };
  const input = plants(10_000);
  const ran = runCli(['import', '-'], { cwd: store.folder, env, input });
  while ((await store.count()) < 500) await sleep(20);
  await first.kill();
  expect(await store.count()).toBeLessThan(10_000);
  const second = await ServiceProcess.start({ store, token, env: { PORT: String(port) } });
  try {
    expect(await ran).toMatchObject({
      code: 0,
      stdout: '10000 plants are stored (sent 10000, refused 0)\n',
    });
    expect(await store.count()).toBe(10_000);
  } finally {
    await second.remove();
  }
});
