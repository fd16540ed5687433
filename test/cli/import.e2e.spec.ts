/** @engine sqlite */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { runCli, runHere, type Ran } from '../support/cli.js';
import { Proxy } from '../support/proxy.js';
import { ServiceProcess } from '../support/service-process.js';
import { Service } from '../support/service.js';

const BEYOND = 2n ** 53n;
const NOTHING =
  '0 plants are stored (sent 0, refused 0); interrupted after line 0; importing again is safe';

/** NDJSON of `count` plants. Their ids are equal as doubles. */
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
  it('stores the plants of a file with every digit, each once', async () => {
    const file = join(service.store.folder, 'plants.ndjson');
    writeFileSync(file, plants(630));
    const url = `http://127.0.0.1:${service.port}/plants`;
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

  it('reports line and reason of every refused plant', async () => {
    const lines = ['{"id":1,"name":"Alder"}', '', 'nope', '{"id":1e99,"name":"x"}', '{"id":2}'];
    const { code, stdout, stderr } = await importing(lines.join('\n'), ['--rejects', 'r.ndjson']);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: '1 plant is stored (sent 4, refused 3)\n',
    });
    expect(stderr.trimEnd().split('\n').sort()).toEqual([
      'line 3: error 1000: the body is not valid JSON at byte 0 of 4',
      'line 4: error 1003: id must be an integer from -2^63 to 2^63-1',
      'line 5: error 1003: name is missing',
    ]);
    const rejects = readFileSync(join(service.store.folder, 'r.ndjson'), 'utf8').trimEnd();
    const parsed = rejects.split('\n').map((line) => JSON.parse(line) as { line: number });
    expect(parsed.sort((a, b) => a.line - b.line)).toEqual([
      { line: 3, error: 1000, message: 'the body is not valid JSON at byte 0 of 4', plant: 'nope' },
      expect.objectContaining({ line: 4, error: 1003, plant: '{"id":1e99,"name":"x"}' }),
      { line: 5, error: 1003, message: 'name is missing', plant: '{"id":2}' },
    ]);
  });

  it('prints its summary as JSON with --json', async () => {
    const { code, stdout } = await importing('{"id":1,"name":"Alder"}\nnope\n', ['--json']);
    expect({ code, sum: JSON.parse(stdout) as unknown }).toEqual({
      code: 1,
      sum: { complete: true, answeredLines: 2, stored: 1, refused: 1, ignoredFields: {} },
    });
  });

  const MISSPELT = '{"id":1,"name":"Alder","tga":"Alnus"}\n{"id":2,"name":"Oak"}\n';

  it('counts fields that the service ignores', async () => {
    const input = `${MISSPELT}{"id":3,"name":"Ash","tga":1,"\\u001b[2J":2}\n`;
    const sum = '3 plants are stored (sent 3, refused 0)';
    expect(await importing(input)).toEqual({
      code: 0,
      stdout: `${sum}\nignored fields: tga (2 lines),  [2J (1 line)\n`,
      stderr: '',
    });
    const { stdout } = await importing(input, ['--json']);
    expect(JSON.parse(stdout)).toMatchObject({ ignoredFields: { tga: 2, '\u001B[2J': 1 } });
  });

  it('--strict refuses plants with such fields, and does not send them', async () => {
    expect(await importing(MISSPELT, ['--strict', '--rejects', 'r.ndjson'])).toEqual({
      code: 1,
      stdout: '1 plant is stored (sent 1, refused 1)\n',
      stderr: 'line 1: the service would ignore tga\n',
    });
    expect((await service.store.plants()).map(({ id }) => id)).toEqual([2n]);
    const rejects = readFileSync(join(service.store.folder, 'r.ndjson'), 'utf8');
    expect(JSON.parse(rejects)).toEqual({
      line: 1,
      error: null,
      message: 'the service would ignore tga',
      plant: MISSPELT.split('\n')[0],
    });
  });

  it('lists all refused plants, or only the first ones if a file takes them', async () => {
    const refused = '{nope\n'.repeat(30);
    expect((await importing(refused)).stderr.trimEnd().split('\n')).toHaveLength(30);
    const { stderr } = await importing(refused, ['--rejects', 'r.ndjson']);
    const listed = stderr.trimEnd().split('\n');
    expect(listed).toHaveLength(21);
    expect(listed[20]).toBe('further refused plants are only in r.ndjson');
    const rejects = readFileSync(join(service.store.folder, 'r.ndjson'), 'utf8');
    expect(rejects.trimEnd().split('\n')).toHaveLength(30);
  });

  it('stops when the file for refused plants is full', async () => {
    const { code, stdout, stderr } = await importing('{nope\n{"id":1}\n', [
      '--rejects',
      '/dev/full',
    ]);
    expect({ code, stdout }).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/refused [12]\); interrupted after line \d; importing again/),
    });
    expect(stderr).toContain('error: stopped: ENOSPC');
  });

  it.each(['input.ndjson', 'link', '-'])('never overwrites its input: %s', async (file) => {
    const { folder } = service.store;
    const input = join(folder, 'input.ndjson');
    writeFileSync(input, plants(3));
    symlinkSync('input.ndjson', join(folder, 'link'));
    const args = ['import', file, '--rejects', 'input.ndjson', '--token', 'x'];
    const child = spawn(process.execPath, [resolve('dist/src/cli.js'), ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH },
      stdio: [openSync(input, 'r'), 'ignore', 'pipe'],
    });
    expect(await text(child.stderr as Readable)).toContain('would overwrite the file to import');
    expect(readFileSync(input, 'utf8')).toBe(plants(3));
  });

  it('stops at once if the token is invalid', async () => {
    expect(await importing(plants(500), ['--token', 'plant_x'])).toEqual({
      code: 1,
      stdout: `${NOTHING}\n`,
      stderr: 'error: stopped at line 1: error 2001: invalid or expired token\n',
    });
  });

  it.each([
    ['nofile', /^error: nofile: no such file or directory\n$/],
    ['.', /^error: \. is a folder\n$/],
  ])('fails with one line on the file %s', async (file, message) => {
    const args = ['import', file, '--token', 'x'];
    const { code, stderr } = await runHere(args, { cwd: service.store.folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });

  it('sends plants again that a broken connection left without a response', async () => {
    // Each connection breaks after some responses, with requests in flight.
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

  it('reports its progress when the service stays unavailable', async () => {
    const proxy = await Proxy.start(service.port, 1);
    await proxy.stop();
    const { code, stdout, stderr } = await importing(plants(100), ['--tries', '2'], proxy.port);
    expect({ code, stdout }).toEqual({ code: 1, stdout: `${NOTHING}\n` });
    expect(stderr).toMatch(/^error: stopped at line 1: connect ECONNREFUSED 127[^\n]*\n$/);
  });

  it.each(['[{"id":1,"name":"Alder"}]', 'id,name\n1,Alder\n2,Oak'])(
    'refuses %j as a whole, and sends nothing',
    async (input) => {
      expect(await importing(input)).toEqual({
        code: 1,
        stdout: `${NOTHING}\n`,
        stderr: 'error: stopped: not NDJSON: each line must be a whole JSON object\n',
      });
    },
  );

  const SUM = '300 plants are stored (sent 300, refused 0)';
  it.each([
    ['SIGINT', [], `${SUM}; interrupted after line 300; importing again is safe`],
    ['SIGHUP', [], `${SUM}; interrupted after line 300; importing again is safe`],
    [
      'SIGTERM',
      ['--json'],
      '{"complete":false,"answeredLines":300,"stored":300,"refused":0,"ignoredFields":{}}',
    ],
  ] as const)(
    'reports at a %s how far it got, and ends by that signal %j',
    async (signal, options, sum) => {
      const env = {
        PLANT_STORE_URL: `http://127.0.0.1:${service.port}`,
        PLANT_STORE_TOKEN: service.token,
      };
      const { store } = service;
      const child = spawn(
        process.execPath,
        [resolve('dist/src/cli.js'), 'import', '-', ...options],
        {
          cwd: store.folder,
          env: { PATH: process.env.PATH, ...env },
        },
      );
      const ended = once(child, 'close');
      const written = Promise.all([text(child.stdout), text(child.stderr)]);
      // The pipe stays open, so the import waits for a line when the signal arrives.
      child.stdin.write(plants(300));
      while ((await store.count()) < 300) await sleep(20);
      child.kill(signal);
      expect(await ended).toEqual([null, signal]);
      expect(await written).toEqual([`${sum}\n`, '']);
    },
  );
});

it('ends at a signal, or once its token is refused, though a named pipe is silent', async () => {
  const fifo = join(service.store.folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const writer = openSync(fifo, 'r+');
  const run = (token: string) => {
    const url = `http://127.0.0.1:${service.port}`;
    const args = [resolve('dist/src/cli.js'), 'import', fifo, '--url', url, '--token', token];
    const child = spawn(process.execPath, args, {
      stdio: 'ignore',
      timeout: 4_000,
      killSignal: 'SIGKILL',
    });
    writeSync(writer, plants(1));
    return { child, ended: once(child, 'close') };
  };
  expect(await run('x').ended).toEqual([1, null]);
  const { child, ended } = run(service.token);
  while ((await service.store.count()) < 1) await sleep(20);
  child.kill('SIGTERM');
  expect(await ended).toEqual([null, 'SIGTERM']);
  closeSync(writer);
});

describe('import over TLS', () => {
  let tls: ServiceProcess;
  beforeAll(async () => {
    tls = await ServiceProcess.start({ isTls: true });
  });
  afterAll(() => tls.remove());

  it.each([
    ['https', 'certificate not trusted: see NODE_EXTRA_CA_CERTS'],
    ['http', 'the service speaks HTTPS: give --url https://…'],
  ])('reports at once what is wrong with %s', async (scheme, reason) => {
    const url = `${scheme}://127.0.0.1:${tls.port}`;
    expect(await importing(plants(100), ['--url', url])).toEqual({
      code: 1,
      stdout: `${NOTHING}\n`,
      stderr: `error: stopped at line 1: ${reason}\n`,
    });
  });

  it('reports at once that the service does not use TLS', async () => {
    const url = `https://127.0.0.1:${service.port}`;
    expect(await importing(plants(100), ['--url', url])).toMatchObject({
      code: 1,
      stderr: 'error: stopped at line 1: the service speaks HTTP, not HTTPS: check --url\n',
    });
  });
});

it('an import survives a restart of a killed service', async () => {
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
