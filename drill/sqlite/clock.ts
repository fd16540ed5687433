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

/** A wall clock that can be set, by faketime. */
export class Clock {
  private readonly file: string;
  /** The variables of a service that has this clock. */
  readonly env: Readonly<Record<string, string>>;

  /** @param folder has the clock's file */
  constructor(folder: string) {
    this.file = join(folder, 'clock');
    this.set(0);
    const preload = ['-m', '-f', '+0', 'printenv', 'LD_PRELOAD'];
    this.env = {
      LD_PRELOAD: execFileSync('faketime', preload, { encoding: 'utf8' }).trim(),
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: '1',
      // Node's timers follow the clock that nobody can set.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Sets it to some time before (-1) or after (1) now; 0 sets it right. */
  set(sign: -1 | 0 | 1): void {
    const days = sign * Math.ceil(Math.random() * MAX_DAYS);
    // The service reads it each time, and must not find it empty.
    writeFileSync(`${this.file}.new`, `${days >= 0 ? '+' : ''}${days}d`);
    renameSync(`${this.file}.new`, this.file);
  }
}

/** Sets the wall clock of a running service forwards and backwards. */
export async function setClock(times: number): Promise<Scenario[]> {
  const store = new SqliteStore();
  const clock = new Clock(store.folder);
  const strike = async (): Promise<void> => {
    for (const sign of [1, -1] as const) {
      clock.set(sign);
      await sleep(WRONG_MS);
    }
    clock.set(0);
  };
  const scenario = new Scenario('the clock is set, forwards and backwards');
  await disturb(scenario, times, store, strike, { env: clock.env });
  const sql = 'SELECT min(created_at) AS least, max(created_at) AS most FROM plants';
  const [row] = await store.rows<{ least: bigint; most: bigint }>(sql);
  const isWrong = (time = 0n) => Math.abs(Number(time) - Date.now()) > HALF_DAY_MS;
  if (!isWrong(row?.least) || !isWrong(row?.most)) scenario.learn('the clock was never set');
  return [scenario];
}
