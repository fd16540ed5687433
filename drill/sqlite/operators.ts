import { execFile } from 'node:child_process';
import { copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Plant } from '../../src/plants/plant.entity.js';
import { remakeTable } from '../../test/support/columns.js';
import { listCommands } from '../../test/support/remedy.js';
import { runMain } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { makeChanges, type Change } from '../changes.js';
import type { Scenario } from '../ledger.js';
import { runOn, Service, type Stage } from '../stage.js';
import { faultIn } from './replay.js';

const run = promisify(execFile);

/** Milliseconds in which all threads of a process have stopped. */
const STOP_MS = 200;
/** Milliseconds between two inspections. */
const INTERVAL_MS = 1_000;
/** The files of a store that have its plants. */
export const SUFFIXES = ['', '-wal'];

const RENAME = 'ALTER TABLE plants RENAME TO elsewhere';
const RENAME_BACK = 'ALTER TABLE elsewhere RENAME TO plants';
const PUT_BACK = `DROP TABLE plants; ${RENAME_BACK}`;
const NO_KEY = remakeTable(Plant, 'elsewhere');
const OTHER_TYPE = remakeTable(Plant, 'elsewhere', {
  id: 'bigint PRIMARY KEY NOT NULL',
  name: 'varchar(3) NOT NULL',
});

/** Changes a store beside load: its table, and its files. */
export async function changeStore(times: number): Promise<Scenario[]> {
  const store = new SqliteStore();
  const service = await Service.over(store, { env: { MANAGEMENT_PORT: '0' } });
  const scenarios = await makeChanges(
    service,
    [...tableChanges(store), ...fileChanges(store)],
    times,
  );
  scenarios.at(-1)?.learn(faultIn(store.path));
  return scenarios;
}

function tableChanges(store: SqliteStore): Change[] {
  const inOne = (sql: string) => () => store.execute(`BEGIN IMMEDIATE; ${sql}; COMMIT`);
  return [
    { name: 'the table is renamed', make: inOne(RENAME), undo: inOne(RENAME_BACK) },
    { name: 'a table without the key', make: inOne(NO_KEY), undo: inOne(PUT_BACK) },
    {
      name: 'a table with another type',
      make: inOne(OTHER_TYPE),
      undo: inOne(PUT_BACK),
      takesBack: true,
    },
  ];
}

function fileChanges(store: SqliteStore): Change[] {
  const { path } = store;
  const [backup, old, elsewhere] = ['backup', 'old', 'elsewhere'].map((name) =>
    join(store.folder, name),
  ) as [string, string, string];
  writeFileSync(elsewhere, '');
  const makeBackup = () => runOn(store, 'backup', backup);
  const remove = (...suffixes: string[]) => {
    for (const suffix of suffixes) rmSync(path + suffix);
  };
  return [
    {
      name: 'a backup is moved over the file',
      prepare: makeBackup,
      make() {
        renameSync(path, old);
        renameSync(backup, path);
      },
      undo: follow,
    },
    {
      name: 'a backup is mounted over the file, the file elsewhere',
      async prepare(stage) {
        await makeBackup();
        // Needs root or user namespaces.
        await run('mount', ['--bind', path, elsewhere]);
        await refuseStart(stage, elsewhere);
        await run('umount', [elsewhere]);
      },
      make: () => run('mount', ['--bind', backup, path]),
      async undo(stage) {
        await refuseStart(stage, path);
        await run('umount', [path]);
      },
    },
    {
      name: 'the file is removed',
      make: () => remove(''),
      undo: followAndRestart,
    },
    {
      name: 'the file, its log and its index are removed',
      make: () => remove('', '-wal', '-shm'),
      undo: followAndRestart,
    },
    {
      name: 'the log is removed',
      make: () => remove('-wal'),
      undo: restart,
    },
    {
      name: 'a backup is copied over the file, and then a copy of file and log from just before',
      prepare: makeBackup,
      async make({ service }) {
        // A checkpoint must not write between these two copies.
        service.signal('SIGSTOP');
        await sleep(STOP_MS);
        for (const suffix of SUFFIXES) copyFileSync(path + suffix, old + suffix);
        service.signal('SIGCONT');
        // The stop has delayed an inspection.
        await sleep(Math.random() * INTERVAL_MS);
        copyFileSync(backup, path);
      },
      undo: (stage) => putBack(stage, old, path),
      takesBack: true,
    },
    {
      name: "a backup from just before, by sqlite3's `.restore`",
      async make() {
        await makeBackup();
        await run('sqlite3', [path, '.timeout 5000', `.restore '${backup}'`]);
      },
      undo: restart,
      takesBack: true,
    },
  ];
}

/** Does what the service says. */
export async function follow({ service }: Stage): Promise<void> {
  // Another change may be told of until the next inspection.
  const message = await service.monitor?.untilProblem('back by `');
  const [command] = listCommands(message);
  if (command === undefined) throw new Error(`no command: ${String(message)}`);
  await run('sh', ['-c', command]);
}

export async function followAndRestart(stage: Stage): Promise<void> {
  await follow(stage);
  await restart(stage);
}

export async function restart({ service }: Stage): Promise<void> {
  await service.end('SIGTERM');
  await service.start();
}

/** Puts copies of file and log back, and starts the service, as its start says if the log has begun anew since. */
export async function putBack({ service }: Stage, copies: string, path: string): Promise<void> {
  await service.end('SIGTERM');
  for (const suffix of SUFFIXES) copyFileSync(copies + suffix, path + suffix);
  try {
    await service.start();
  } catch (error) {
    const [, command] = /if file and log were copied together, `([^`]+)`/.exec(String(error)) ?? [];
    if (command === undefined) throw error;
    await run('sh', ['-c', command]);
    await service.start();
  }
}

async function refuseStart({ service, ledger }: Stage, path: string): Promise<void> {
  const { code, stderr } = await runMain(service.store, { DATABASE_URL: `sqlite:${path}` });
  if (code !== 1 || !stderr.includes(`${path} is itself a mount`))
    ledger.scenario.learn(`a service on a mount ended with ${code}: ${stderr}`);
}
