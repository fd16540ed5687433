import { join } from 'node:path';
import { runCli } from '../../test/support/cli.js';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import type { TemporaryStore } from '../../test/support/temporary-store.js';
import { Scenario } from '../ledger.js';
import { runOn, Service, Stage } from '../stage.js';
import { storeOf } from './pair.js';

/** Why a restore is refused: another one writes, or has written. */
const REFUSED = /another process writes to it|the store has plants: nothing was written/;

/**
 * Restores backups of a store under load: two at once into another store, of which one wins, and one into the store
 * itself, which is refused.
 */
export async function restoreBackups(times: number): Promise<Scenario[]> {
  const server = await PostgresServer.start();
  const twice = new Scenario('two restores of a backup at once');
  const beside = new Scenario('a restore beside the service');
  const store = storeOf(server);
  const stage = await Stage.start(await Service.over(store), twice);
  for (let i = 0; i < times; i++) {
    const backup = join(store.folder, `backup-${i}.sqlite`);
    await stage.round(twice, () => restoreTwice(backup));
    await stage.round(beside, async () => {
      beside.learn(refusal(await restore(backup, store)));
    });
  }
  await stage.finish();
  await server.remove();
  return [twice, beside];

  async function restoreTwice(backup: string): Promise<void> {
    const call = process.hrtime.bigint();
    await runOn(store, 'backup', backup);
    const target = await PostgresStore.create(server.url());
    await runOn(target, 'migrate');
    const [first, second] = await Promise.all([restore(backup, target), restore(backup, target)]);
    if (first.code !== 0 && second.code !== 0)
      twice.learn(`no restore wins: ${first.stderr} ${second.stderr}`);
    twice.learn(refusal(first.code === 0 ? second : first));
    stage.ledger.history.read(await target.plants(), call);
    await target.remove();
  }
}

function restore(backup: string, { folder, url }: TemporaryStore) {
  return runCli(['restore', backup], { cwd: folder, env: { DATABASE_URL: url } });
}

/** What is wrong with a restore that must be refused. */
function refusal({ code, stderr }: { code: number | null; stderr: string }): string | undefined {
  const isRefused = code === 1 && REFUSED.test(stderr);
  return isRefused ? undefined : `a restore ended with ${code}: ${stderr}`;
}
