import { execFileSync } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { Scenario } from '../ledger.js';
import { disturb } from '../stage.js';

/** By so many days at most the clock is wrong: until after 2038, when 32 bits no longer hold the seconds. */
const MAX_DAYS = 10_000;
/** The least that counts as wrong. */
const HALF_DAY_MS = 43_200_000;
/** Milliseconds of a wrong clock. */
const WRONG_MS = 1_000;

/** Sets the wall clock of a running service forwards and backwards, by faketime. */
export async function setClock(times: number): Promise<Scenario[]> {
  const store = new SqliteStore();
  const file = join(store.folder, 'clock');
  const set = (days: number): void => {
    // The service reads it each time, and must not find it empty.
    writeFileSync(`${file}.new`, `${days >= 0 ? '+' : ''}${days}d`);
    renameSync(`${file}.new`, file);
  };
  set(0);
  const strike = async (): Promise<void> => {
    for (const sign of [1, -1]) {
      set(sign * Math.ceil(Math.random() * MAX_DAYS));
      await sleep(WRONG_MS);
    }
    set(0);
  };
  const preload = ['-m', '-f', '+0', 'printenv', 'LD_PRELOAD'];
  const env = {
    LD_PRELOAD: execFileSync('faketime', preload, { encoding: 'utf8' }).trim(),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    // Node's timers follow the clock that nobody can set.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  const scenario = new Scenario('the clock is set, forwards and backwards');
  await disturb(scenario, times, store, strike, { env });
  const sql = 'SELECT min(created_at) AS least, max(created_at) AS most FROM plants';
  const [row] = await store.rows<{ least: bigint; most: bigint }>(sql);
  const isWrong = (time = 0n) => Math.abs(Number(time) - Date.now()) > HALF_DAY_MS;
  if (!isWrong(row?.least) || !isWrong(row?.most)) scenario.learn('the clock was never set');
  return [scenario];
}
