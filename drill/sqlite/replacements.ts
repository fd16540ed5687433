import { execFileSync } from 'node:child_process';
import { copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runMain } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { Scenario } from '../ledger.js';
import { disturb, runOn, type Stage } from '../stage.js';
import { faultIn } from './replay.js';

/** Milliseconds with another file in the place of the store's. */
const AWAY_MS = 1_000;
/** Milliseconds in which all threads of a process have stopped. */
const STOP_MS = 200;

/** Puts backups in the place of a file that a service runs on, and the file back. */
export async function replaceFile(times: number): Promise<Scenario[]> {
  const store = new SqliteStore();
  const scenario = new Scenario('a backup is moved over the file, and back');
  return strikeFile(store, scenario, times, async (stage) => {
    const backup = await makeBackup(store);
    const old = `${store.path}.old`;
    const { refused } = scenario.counts;
    renameSync(store.path, old);
    renameSync(backup, store.path);
    await stage.until('plants are refused', () => scenario.counts.refused > refused);
    await sleep(AWAY_MS);
    renameSync(old, store.path);
  });
}

/** Mounts a backup over a file that a service runs on, and the file elsewhere: no service starts there. */
export async function mountFile(times: number): Promise<Scenario[]> {
  const store = new SqliteStore();
  const scenario = new Scenario('a backup is mounted over the file, the file elsewhere');
  const elsewhere = join(store.folder, 'elsewhere.sqlite');
  writeFileSync(elsewhere, '');
  return strikeFile(store, scenario, times, async (stage) => {
    const backup = await makeBackup(store);
    await mounted(store.path, elsewhere, () => refuseStart(store, scenario, elsewhere));
    const { refused } = scenario.counts;
    await mounted(backup, store.path, async () => {
      await stage.until('plants are refused', () => scenario.counts.refused > refused);
      await refuseStart(store, scenario, store.path);
    });
    rmSync(backup);
  });
}

/**
 * Copies a backup over a file that a service runs on, which keeps its name and its inode. The service acknowledges nothing
 * from then on. Then stops it, copies the file back, and starts a service on that.
 */
export async function overwriteFile(times: number): Promise<Scenario[]> {
  const store = new SqliteStore();
  const scenario = new Scenario('a backup is copied over the file, and back');
  return strikeFile(store, scenario, times, async (stage) => {
    const { service } = stage;
    const backup = await makeBackup(store);
    const old = `${store.path}.old`;
    const { counts } = scenario;
    const { refused } = counts;
    // A checkpoint must not write to the file between the two copies.
    service.signal('SIGSTOP');
    await sleep(STOP_MS);
    copyFileSync(store.path, old);
    copyFileSync(backup, store.path);
    service.signal('SIGCONT');
    await stage.until('plants are refused', () => counts.refused > refused);
    const { acknowledged } = counts;
    await sleep(AWAY_MS);
    if (counts.acknowledged > acknowledged) scenario.learn('a plant is acknowledged, and lost');
    await service.end('SIGTERM');
    copyFileSync(old, store.path);
    rmSync(backup);
    await service.start();
  });
}

async function strikeFile(
  store: SqliteStore,
  scenario: Scenario,
  times: number,
  strike: (stage: Stage) => Promise<void>,
): Promise<Scenario[]> {
  await disturb(scenario, times, store, strike);
  scenario.learn(faultIn(store.path));
  return [scenario];
}

async function makeBackup(store: SqliteStore): Promise<string> {
  const backup = join(store.folder, 'backup.sqlite');
  await runOn(store, 'backup', backup);
  return backup;
}

/** Needs root or user namespaces. */
async function mounted(file: string, path: string, work: () => Promise<void>): Promise<void> {
  execFileSync('mount', ['--bind', file, path]);
  await work();
  execFileSync('umount', [path]);
}

async function refuseStart(store: SqliteStore, scenario: Scenario, path: string): Promise<void> {
  const { code, stderr } = await runMain(store, { DATABASE_URL: `sqlite:${path}` });
  if (code !== 1 || !stderr.includes(`${path} is itself a mount`))
    scenario.learn(`a service on a mount ended with ${code}: ${stderr}`);
}
