/** @engine sqlite */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { runHere, untilEnd, type Ran } from '../support/cli.js';
import { Client } from '../support/client.js';
import { serviceProcess as service, startProcess } from '../support/own.js';

startProcess();

const [STOP, GO] = ['\x13', '\x11'];
const CLI = resolve('dist/src/cli.js');

function cli(line: string, input = ''): Promise<Ran> {
  const { folder, url } = service.store;
  return runHere(line.split(' '), { cwd: folder, env: { DATABASE_URL: url }, input });
}

let terminal: ChildProcess | undefined;
/** A test that fails may leave it stopped. */
afterEach(() => void terminal?.kill());

/**
 * Runs a command whose stdout is a terminal, which `script` makes and `^S` has stopped. Its stderr is none: a command says
 * there which store it opens, and would wait with that.
 */
function runStopped(line: string) {
  const { folder: cwd, url } = service.store;
  const command = `echo $$ >pid; read line; exec "${process.execPath}" "${CLI}" ${line} 2>err`;
  const child = spawn('script', ['--quiet', '--flush', '--return', '-c', command, '/dev/null'], {
    cwd,
    env: { PATH: process.env.PATH, DATABASE_URL: url },
  });
  terminal = child;
  child.stdin.write(`${STOP}\n`);
  // A command that was killed reads nothing more.
  child.stdin.on('error', () => undefined);
  return {
    ended: untilEnd(child),
    go: () => child.stdin.end(GO),
    kill: () => process.kill(Number(readFileSync(join(cwd, 'pid'), 'utf8')), 'SIGKILL'),
  };
}

async function countActive(name: string): Promise<number> {
  const { stdout } = await cli('token list --json');
  const tokens = JSON.parse(stdout) as { name: string; state: string }[];
  return tokens.filter((token) => token.name === name && token.state === 'active').length;
}

let next = 1n;

/** Creates a plant. */
async function use(token = service.token): Promise<number> {
  using client = new Client(service.port, token);
  return (await client.create({ id: next++, name: 'oak' })).status;
}

/** Has plants created until a name has this many active tokens, and for as long as their print may take. */
async function useUntil(name: string, active: number): Promise<void> {
  while ((await countActive(name)) < active) expect(await use()).toBe(200);
  for (let i = 0; i < 10; i++) {
    await sleep(100);
    expect(await use()).toBe(200);
  }
}

it('while a new token waits for its terminal, plants and other tokens are created', async () => {
  const created = runStopped('token create nursery');
  await useUntil('nursery', 1);
  expect(await cli('token create other')).toMatchObject({ code: 0 });
  created.go();
  const { code, stdout } = await created.ended;
  const [token = ''] = /plant_\w{38}/.exec(stdout) ?? [];
  expect([code, await use(token)]).toEqual([0, 200]);
});

it('while a rotation waits for its terminal the old token works, and no longer than after it', async () => {
  const old = (await cli('token create orchard')).stdout.trim();
  const rotated = runStopped('token rotate orchard --overlap 0s');
  await useUntil('orchard', 2);
  expect(await use(old)).toBe(200);
  rotated.go();
  const { code, stdout } = await rotated.ended;
  const [token = ''] = /plant_\w{38}/.exec(stdout) ?? [];
  expect([code, await use(token)]).toEqual([0, 200]);
  expect(await cli('token verify', old)).toMatchObject({ code: 1 });
});

it('a rotation that is killed while it prints leaves the old token, and the new one in the list', async () => {
  const old = (await cli('token create grove')).stdout.trim();
  const rotated = runStopped('token rotate grove --overlap 0s');
  await useUntil('grove', 2);
  rotated.kill();
  rotated.go();
  expect((await rotated.ended).stdout).not.toContain('plant_');
  expect([await countActive('grove'), await use(old)]).toEqual([2, 200]);
});
