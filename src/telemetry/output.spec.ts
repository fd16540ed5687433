/** @engine sqlite */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, it } from '@jest/globals';
import { Config } from '../config/config.js';
import { MAX_WAITING_CHARACTERS, Output } from './output.js';
import { ServiceLogger } from './logger.js';

const LINE = 'x'.repeat(1_000);

it('drops lines while their reader does not read, and says how many once it has caught up', async () => {
  const pipe = new PassThrough();
  const config = Object.assign(new Config(), { production: true });
  const logger = new ServiceLogger(config, new Output(pipe));
  const count = Math.ceil((2 * MAX_WAITING_CHARACTERS) / LINE.length);
  for (let i = 0; i < count; i++) logger.log(LINE, 'C');
  // Some have gone on to the reading side.
  expect(pipe.writableLength).toBeLessThan(1.1 * MAX_WAITING_CHARACTERS);

  let text = '';
  pipe.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(pipe, 'drain');
  logger.log('next', 'C');
  while (!text.includes('next')) await new Promise(setImmediate);
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  const told = lines.findIndex((line) => 'dropped' in line);
  expect(lines[told]).toMatchObject({ level: 'warn', context: 'Log', dropped: count - told });
  expect(lines.slice(told + 1)).toMatchObject([{ msg: 'next' }]);
});

it('outlives its stream', async () => {
  const pipe = new PassThrough();
  const output = new Output(pipe);
  pipe.destroy(new Error('EPIPE'));
  await new Promise((resolve) => pipe.on('close', resolve));
  for (let i = 0; i < 3; i++) output.write('x\n');
  await new Promise(setImmediate);
});
