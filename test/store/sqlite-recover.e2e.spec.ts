/** @engine sqlite */
import { copyFileSync, statSync } from 'node:fs';
import { beforeEach, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { makeStore, sqlite as store } from '../support/own.js';
import { ServiceProcess } from '../support/service-process.js';

/** Bytes of a page in the log: its frame's header and itself (sqlite.org/fileformat2.html#walformat). */
const FRAME = 24 + 4_096;
const OAK = { id: 1n, name: 'oak' };

let service: ServiceProcess;
makeStore(() => service.kill());
beforeEach(async () => {
  service = await ServiceProcess.start({ store });
});

const sizeOfLog = () => statSync(`${store.path}-wal`).size;

/** Starts the service again without anything else that writes to the store. */
async function restart(): Promise<void> {
  const { token } = service;
  service = await ServiceProcess.start({ store, token, env: { MIGRATE: 'off' } });
}

/** Whether the file has the plant without the log beside it. */
function isInFile(): boolean {
  const copy = `${store.folder}/copy.sqlite`;
  copyFileSync(store.path, copy);
  const database = new Database(copy);
  const found = database.prepare('SELECT 1 FROM plants WHERE id = 1').all();
  database.close();
  return found.length === 1;
}

describe('the log of a killed process', () => {
  it('is in the file, and empty, when the next process listens', async () => {
    await service.client().create(OAK);
    await service.kill();
    expect(isInFile()).toBe(false);
    expect(sizeOfLog()).toBeGreaterThan(FRAME);
    await restart();
    expect(isInFile()).toBe(true);
    expect(sizeOfLog()).toBe(0);
    expect((await service.client().create(OAK)).status).toBe(200);
  });

  it('is synced by a commit if a reader blocks the checkpoint', async () => {
    const reader = store.open();
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM plants').get();
    await service.client().create(OAK);
    await service.kill();
    const left = sizeOfLog();
    await restart();
    const now = sizeOfLog();
    reader.close();
    expect(now).toBe(left + FRAME);
    expect((await service.client().create(OAK)).status).toBe(200);
  });
});
