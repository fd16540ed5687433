/** @engine sqlite */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { VERSION } from '../../src/config/config.js';
import { describeDatabase } from '../../src/config/database-url.js';
import { spawnCli, untilEnd } from '../support/cli.js';
import { cli, makeStore, store } from '../support/own.js';

makeStore();

it('a command names the store on a terminal only, so that cron mails failures only', async () => {
  expect(await cli('migrate')).toMatchObject({ code: 0, stderr: '' });
  const command = `${process.execPath} ${resolve('dist/src/cli.js')} token list >/dev/null`;
  // This program of util-linux runs the command on a new terminal.
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: store.folder,
    env: { PATH: process.env.PATH, DATABASE_URL: store.url },
  });
  const named = describeDatabase(store.url);
  expect(await untilEnd(child)).toEqual({
    code: 0,
    stdout: `plant-store ${VERSION}, Node.js ${process.versions.node}, store: ${named}\r\n`,
    stderr: '',
  });
});

const verify = () =>
  spawnCli(['token', 'verify'], { cwd: store.folder, env: { DATABASE_URL: store.url } });

it('a token is verified without waiting for the end of stdin', async () => {
  await cli('migrate');
  const secret = (await cli('token create nursery')).stdout;
  const child = verify();
  // The reader of stderr has gone; the command continues.
  child.stderr.destroy();
  child.stdin.write(secret);
  expect(await once(child, 'exit')).toEqual([0, null]);
  child.stdin.destroy();
});

it('a token is verified without reading a line that is longer than any header', async () => {
  await cli('migrate');
  const child = verify();
  const exited = once(child, 'exit');
  // Whatever it does not read breaks the pipe.
  const written = once(child.stdin, 'error');
  const more = () => {
    while (child.stdin.write('x'.repeat(65_536)));
  };
  child.stdin.on('drain', more);
  more();
  expect(await exited).toEqual([1, null]);
  await written;
});
