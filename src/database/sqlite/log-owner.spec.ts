/** @engine sqlite */
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { expect, it } from '@jest/globals';
import { makeStore, sqlite as store } from '../../../test/support/own.js';
import { assertOwnLog, writeIds } from './log-owner.js';

makeStore();

/** Gives the file one id after the other, as starts do: it may have both until the header has the next one. */
const START_AGAIN = `
  const { renameSync, writeFileSync, writeSync } = require('node:fs');
  const { workerData: { ids, descriptor, isOver } } = require('node:worker_threads');
  const keep = (text) => {
    writeFileSync(ids + '.new', text);
    renameSync(ids + '.new', ids);
  };
  for (let id = 1; Atomics.load(isOver, 0) === 0; id++) {
    keep((id - 1) + ' ' + id);
    const header = Buffer.alloc(4);
    header.writeInt32BE(id);
    writeSync(descriptor, header, 0, 4, 68);
    keep(String(id));
  }`;

it('takes no log for that of another file while a service starts', async () => {
  const file = `${store.folder}/file`;
  writeFileSync(file, Buffer.alloc(100));
  writeFileSync(`${file}-wal`, 'log');
  writeIds(file, [0]);
  const descriptor = openSync(file, 'r+');
  const isOver = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { ids: `${file}-id`, descriptor, isOver };
  const starting = new Worker(START_AGAIN, { eval: true, workerData });
  await once(starting, 'online');
  try {
    for (let i = 0; i < 5_000; i++) assertOwnLog(file);
  } finally {
    Atomics.store(isOver, 0, 1);
  }
  await once(starting, 'exit');
  writeIds(file, [-1]);
  expect(() => assertOwnLog(file)).toThrow(' belongs to another file ');
  closeSync(descriptor);
});
