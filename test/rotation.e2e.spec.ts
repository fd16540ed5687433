import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { runCli, type Ran } from './support/cli.js';
import { Client } from './support/client.js';
import { ServiceProcess } from './support/service-process.js';

let service: ServiceProcess;
beforeEach(async () => {
  service = await ServiceProcess.start();
});
afterEach(() => service.remove());

function cli(line: string): Promise<Ran> {
  const { folder, url } = service.store;
  return runCli(line.split(' '), { cwd: folder, env: { DATABASE_URL: url } });
}

/** The status of a request with a token. */
async function use(token: string): Promise<number> {
  const client = new Client(service.port, token);
  const { status } = await client.create({ id: 1n, name: 'oak' });
  client.close();
  return status;
}

async function until(token: string, status: number): Promise<void> {
  while ((await use(token)) !== status) await new Promise((resolve) => setTimeout(resolve, 100));
}

it('a rotated token works until the overlap is over, its successor from the start', async () => {
  const old = (await cli('token create nursery')).stdout.trim();
  expect(await use(old)).toBe(200);
  const rotated = await cli('token rotate nursery');
  expect(rotated).toMatchObject({ code: 0, stderr: '' });
  const next = rotated.stdout.trim();
  expect(rotated.stdout).toBe(`${next}\n`);
  expect([await use(old), await use(next)]).toEqual([200, 200]);
  const last = (await cli('token rotate nursery --overlap 1s')).stdout.trim();
  await until(old, 401);
  await until(next, 401);
  expect(await use(last)).toBe(200);
});

it('a token that is rotated without an overlap stops, as all do that are revoked by their age', async () => {
  const old = (await cli('token create nursery')).stdout.trim();
  expect(await use(old)).toBe(200);
  const successor = (await cli('token rotate nursery --overlap 0s')).stdout.trim();
  await until(old, 401);
  expect(await use(successor)).toBe(200);
  const all = await cli('token revoke --all-created-before 2999-01-01');
  expect(all).toEqual({ code: 0, stdout: 'revoked 2: first, nursery\n', stderr: '' });
  await until(successor, 401);
  await until(service.token, 401);
  const again = await cli('token revoke --all-created-before 2999-01-01');
  expect(again).toEqual({ code: 0, stdout: 'revoked 0\n', stderr: '' });
});

it('a token that expires soon is warned of until it is rotated', async () => {
  const warning =
    /^warning: nursery \(2\) expires [-\d]+ [:\d]+ UTC: run plant-store token rotate nursery\n$/;
  await cli('token create nursery --expires 10d');
  const { stdout, stderr } = await cli('token list');
  expect(stdout).toMatch(/\n2 +nursery +expires soon +/);
  expect(stderr).toMatch(warning);
  expect((await cli('token list --json')).stderr).toMatch(warning);
  await cli('token rotate nursery --expires 90d');
  const json = await cli('token list --json');
  expect(json.stderr).toBe('');
  const states = (JSON.parse(json.stdout) as { state: string }[]).map(({ state }) => state);
  expect(states).toEqual(['active', 'expires soon', 'active']);
});

it('rotations at once take turns', async () => {
  await cli('token create nursery');
  const ran = await Promise.all([1, 2, 3].map(() => cli('token rotate nursery --overlap 0s')));
  expect(ran.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
    ran.map(() => ({ code: 0, stderr: '' })),
  );
  const statuses = await Promise.all(ran.map(({ stdout }) => use(stdout.trim())));
  expect(statuses.sort()).toEqual([200, 401, 401]);
});

it('a rotation of a name that no token has fails in one line', async () => {
  expect(await cli('token rotate nobody')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'error: no token named nobody is active: create one\n',
  });
});
