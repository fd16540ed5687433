import { execFileSync } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCli } from '../../test/support/cli.js';
import { runMain } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { Scenario } from '../ledger.js';
import { disturb, type Stage } from '../stage.js';
import { faultIn } from './replay.js';

/** Milliseconds with another file in the place of the store's. */
const AWAY_MS = 1_000;

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

async function makeBackup({ folder, url }: SqliteStore): Promise<string> {
  const backup = join(folder, 'backup.sqlite');
  const surroundings = { cwd: folder, env: { DATABASE_URL: url } };
  const { code, stderr } = await runCli(['backup', backup], surroundings);
  if (code !== 0) throw new Error(stderr);
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
