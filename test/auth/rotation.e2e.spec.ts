import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { runCli, runHere, type Ran } from '../support/cli.js';
import { Client } from '../support/client.js';
import { ENGINE } from '../support/engine.js';
import { serviceProcess as service, startProcess } from '../support/own.js';

startProcess();

function cli(line: string, runner = runHere): Promise<Ran> {
  const { folder, url } = service.store;
  return runner(line.split(' '), { cwd: folder, env: { DATABASE_URL: url } });
}

/** The status of a request with a token. */
async function use(token: string): Promise<number> {
  using client = new Client(service.port, token);
  return (await client.create({ id: 1n, name: 'oak' })).status;
}

async function until(token: string, status: number): Promise<void> {
  while ((await use(token)) !== status) await sleep(100);
}

it('a rotated token works until the overlap ends, its successor at once', async () => {
  const old = (await cli('token create nursery')).stdout.trim();
  expect(await use(old)).toBe(200);
  const rotated = await cli('token rotate nursery');
  expect(rotated).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      /^nursery \(\d+\) never expires\nthe old one works until [-\d]+ [:\d]+ UTC at most\n$/,
    ),
  });
  const [, end] = /until (.*) UTC/.exec(rotated.stderr) ?? [];
  const listed = JSON.parse((await cli('token list --json')).stdout) as { expiresAt: string }[];
  const ends = listed.map(({ expiresAt }) => Date.parse(expiresAt)).filter(Boolean);
  expect(ends).toHaveLength(1);
  expect(Date.parse(`${end}Z`)).toBeGreaterThanOrEqual(ends[0] ?? NaN);
  const next = rotated.stdout.trim();
  expect(rotated.stdout).toBe(`${next}\n`);
  expect([await use(old), await use(next)]).toEqual([200, 200]);
  const last = (await cli('token rotate nursery --overlap 1s')).stdout.trim();
  await until(old, 401);
  await until(next, 401);
  expect([await use(last), await use(service.token)]).toEqual([200, 200]);
});

it('warns about a token that expires soon, until it is rotated', async () => {
  const warning =
    /^warning: orchard \(\d+\) expires [-\d]+ [:\d]+ UTC: run bin\/plant-store token rotate orchard\n$/;
  await cli('token create orchard --expires 10d');
  const { stdout, stderr } = await cli('token list');
  expect(stdout).toMatch(/\n\d+ +orchard +expires soon +/);
  expect(stderr).toMatch(warning);
  expect((await cli('token list --json')).stderr).toMatch(warning);
  await cli('token rotate orchard --expires 90d');
  const json = await cli('token list --json');
  expect(json.stderr).toBe('');
  const tokens = JSON.parse(json.stdout) as { name: string; state: string }[];
  const states = tokens.filter(({ name }) => name === 'orchard').map(({ state }) => state);
  expect(states).toEqual(['expires soon', 'active']);
  await cli('token revoke orchard');
});

it('a rotation cuts no later lifetime, even if its own token is revoked', async () => {
  await cli('token create meadow');
  const [, id] = /\((\d+)\)/.exec((await cli('token rotate meadow')).stderr) ?? [];
  expect((await cli(`token revoke ${id}`)).code).toBe(0);
  expect((await cli('token rotate meadow')).stderr).toContain('never expires');
  await cli('token revoke meadow');
});

it('concurrent rotations take turns', async () => {
  await cli('token create grove');
  const ran = await Promise.all(
    [1, 2, 3].map(() => cli('token rotate grove --overlap 0s', runCli)),
  );
  const printed = /^grove \(\d+\) never expires\n$/;
  // Another one has ended the new token before this one could end the old ones.
  const ended =
    /^grove \(\d+\) never expires\nwarning: .*\nerror: grove \(\d+\) was revoked or has expired meanwhile: .*\n$/;
  for (const { code, stderr } of ran) expect(stderr).toMatch(code === 0 ? printed : ended);
  const statuses = await Promise.all(ran.map(({ stdout }) => use(stdout.trim())));
  expect(statuses.sort()).toEqual([200, 401, 401]);
});

it.each(['nobody', 'revoked', 'expired'])(
  'rotating a name without an active token fails with one line: %s',
  async (name) => {
    if (name !== 'nobody') await cli(`token create ${name} --expires 1s`);
    if (name === 'revoked') await cli('token revoke revoked');
    if (name === 'expired') await sleep(1_000);
    const { code, stdout, stderr } = await cli(`token rotate ${name}`);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(`error: no token named ${name} is active: create one\n`);
    const all = JSON.parse((await cli('token list --json')).stdout) as { name: string }[];
    expect(all.filter((token) => token.name === name)).toHaveLength(name === 'nobody' ? 0 : 1);
  },
);

it('a rotation that cannot end the old token says so: both work', async () => {
  const old = (await cli('token create prairie')).stdout.trim();
  const [refuse, allow] =
    ENGINE === 'sqlite'
      ? [
          "CREATE TRIGGER refuse BEFORE UPDATE ON tokens WHEN NEW.name = 'prairie' BEGIN SELECT RAISE(ABORT, 'refused'); END",
          'DROP TRIGGER refuse',
        ]
      : [
          "ALTER TABLE tokens ADD CONSTRAINT refuse CHECK (name <> 'prairie' OR revoked_at IS NULL)",
          'ALTER TABLE tokens DROP CONSTRAINT refuse',
        ];
  await service.store.execute(refuse);
  const { code, stdout, stderr } = await cli('token rotate prairie --overlap 0s');
  await service.store.execute(allow);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /^prairie \(\d+\) never expires\nwarning: the old one may still work: find it by `bin\/plant-store token list`, and revoke it by its number\nerror: .*refuse/,
    ),
  });
  expect([await use(old), await use(stdout.trim())]).toEqual([200, 200]);
  await cli('token revoke prairie');
});

it('a token stops when rotated without overlap, and when all are revoked', async () => {
  const old = (await cli('token create garden')).stdout.trim();
  expect(await use(old)).toBe(200);
  const successor = (await cli('token rotate garden --overlap 0s')).stdout.trim();
  await until(old, 401);
  expect(await use(successor)).toBe(200);
  const { stdout } = await cli('token list --json');
  const tokens = JSON.parse(stdout) as { id: number; name: string; state: string }[];
  const valid = tokens
    .filter(({ state }) => state !== 'revoked')
    .map(({ id, name, state }) => `${name} (${id}${state === 'expired' ? ', expired' : ''})`);
  expect(valid.join()).toMatch(/^first.*expired.*garden/);
  const revokeAll = () => cli('token revoke --all');
  const all = await revokeAll();
  const revoked = `revoked ${valid.length}: ${valid.join(', ')}\n`;
  expect(all).toEqual({ code: 0, stdout: revoked, stderr: '' });
  await until(successor, 401);
  await until(service.token, 401);
  const again = await revokeAll();
  expect(again).toEqual({ code: 1, stdout: '', stderr: 'error: no active token\n' });
});
