import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fillWith } from '../../test/cli/backups.js';
import { createStore } from '../../test/support/engine.js';
import type { TemporaryStore } from '../../test/support/temporary-store.js';
import type { Config } from '../config/config.js';
import { readConfig } from '../config/environment.js';
import { migrateStore } from './store.js';
import { Snapshot } from './snapshot.js';

const COUNT = 100_000;
const ROWS = { table: 'plants', columns: ['id'], form: 'array' } as const;

let temporary: TemporaryStore;
let config: Config;
beforeAll(async () => {
  temporary = await createStore();
  config = readConfig({ DATABASE_URL: temporary.url });
  await migrateStore(config);
  await temporary.execute(fillWith(COUNT));
});
afterAll(() => temporary.remove());

describe('the lines of a snapshot', () => {
  it('are whole in every chunk, which are few', async () => {
    await using snapshot = await Snapshot.open(config);
    const ids: bigint[] = [];
    let chunks = 0;
    for await (const chunk of snapshot.readLines(ROWS)) {
      const lines = chunk.toString().trimEnd().split('\n');
      for (const line of lines) ids.push(BigInt((JSON.parse(line) as [string])[0]));
      chunks += 1;
    }
    expect(ids).toHaveLength(COUNT);
    expect(ids.every((id, i) => i === 0 || id > (ids[i - 1] ?? 0n))).toBe(true);
    expect(chunks).toBeLessThan(20);
  });

  it('may be left early, and the snapshot is closed all the same', async () => {
    await using snapshot = await Snapshot.open(config);
    for await (const chunk of snapshot.readLines(ROWS)) if (chunk.length > 0) break;
  });
});
