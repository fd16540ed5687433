/** The work of `backup` and `restore`, which store.command.ts runs. */
import { COMMAND, type Config } from '../config/config.js';
import { loadEngine, openStore } from '../database/store.js';
import { StoreUnusableError } from '../database/store-errors.js';
import { Snapshot } from '../database/snapshot.js';
import { dropLog } from '../database/sqlite/engine.js';
import { describeError, OutputError } from '../errors/operator-message.js';
import { Plant } from '../plants/plant.entity.js';
import {
  digestTable,
  digestTables,
  finishTokens,
  formatDigests,
  TABLE_NAMES,
  TABLES,
  type Digests,
} from './backup-tables.js';
import { makeFile } from './new-file.js';
import { configureFile } from './store-config.js';
import { onEndingSignal } from './terminal.js';

export async function makeBackup(config: Config, file: string): Promise<Digests> {
  const digests = await makeFile(file, config, async (path) => {
    await copyStore(config, path, file);
    dropLog(path);
    return verifyBackup(path, file);
  });
  await recordBackup(config).catch((error: unknown) => {
    const reason = describeError(error);
    process.stderr.write(`warning: the store does not know of this backup: ${reason}\n`);
  });
  return digests;
}

/** The service has the time in its metrics: an alert tells of backups that fail. */
async function recordBackup(config: Config): Promise<void> {
  await using store = await openStore(config, [], 'backups');
  await store.query(
    `INSERT INTO backups (id, finished_at) VALUES (1, ${Date.now()})
     ON CONFLICT (id) DO UPDATE SET finished_at = excluded.finished_at`,
  );
}

/** Closes the source's snapshot at its end: until then the log of SQLite grows, and PostgreSQL keeps dead rows. */
async function copyStore(config: Config, path: string, name: string): Promise<void> {
  await using source = await Snapshot.open(config);
  await using target = await openStore(configureFile(path), [Plant]).catch((error: unknown) => {
    // Its own message names the variable of the source.
    throw new OutputError(`${name}: ${describeError((error as Error).cause)}`, { cause: error });
  });
  const digests = formatDigests(await digestTables(source, target));
  await target.query('CREATE TABLE digests (name text, digest text)');
  for (const row of digests) await target.query('INSERT INTO digests VALUES (?, ?)', row);
}

export async function verifyBackup(path: string, name = path): Promise<Digests> {
  await using backup = await openBackup(path, name);
  return await checkDigests(backup, name);
}

/** Fills the store of the configuration, which must exist and be empty, or continues that; reads it all at the end. */
export async function restoreBackup(config: Config, file: string): Promise<Digests> {
  await using backup = await openBackup(file);
  const digests = await checkDigests(backup, file);
  const lastKeys = await findLastKeys(config, backup);
  const engine = await loadEngine(config.databaseUrl);
  // Until the end no service can lock the store.
  using _lock = engine.lock?.(config);
  using _listening = onEndingSignal((signal) => {
    process.stderr.write(`error: stopped by ${signal}; run it again, and it continues\n`);
    process.kill(process.pid, signal);
  });
  try {
    await using store = await openStore(config, [Plant]);
    await digestTables(backup, store, lastKeys);
    await finishTokens(store);
  } catch (cause) {
    // Nothing was written yet.
    if (cause instanceof StoreUnusableError) throw cause;
    throw new Error(`stopped: ${describeError(cause)}; run it again, and it continues`, { cause });
  }
  await using filled = await Snapshot.open(config);
  assertSame(await digestTables(filled), formatDigests(digests));
  return digests;
}

function openBackup(path: string, name = path): Promise<Snapshot> {
  const columns = TABLES.flatMap((table) => table.columns.map((each) => `${table.name}.${each}`));
  // An older store, which has no digests, is told to be migrated.
  const needed = [...columns, 'digests.name'];
  return Snapshot.open(configureFile(path), { name: `${name}: the backup`, columns: needed });
}

/** @throws Error if the backup is damaged, or has no digests: it is a store, or a backup of version 1.0.0 */
async function checkDigests(backup: Snapshot, name: string): Promise<Digests> {
  const found = await backup.query("SELECT 1 FROM sqlite_master WHERE name = 'digests'");
  if (found.length === 0) {
    const command = `DATABASE_URL=sqlite:${name} ${COMMAND} backup NEW`;
    throw new Error(`${name} is a store, not a backup: run \`${command}\` first`);
  }
  try {
    await backup.check(TABLE_NAMES);
    const digests = await digestTables(backup);
    const rows = await backup.query<{ name: string; digest: string }>('SELECT * FROM digests');
    assertSame(digests, new Map(rows.map(({ name, digest }) => [name, digest])));
    return digests;
  } catch (cause) {
    throw new Error(`${name}: the backup is damaged: ${describeError(cause)}`, { cause });
  }
}

/** Finds the last key of each table that an interrupted restore has filled. @throws Error if the store has other rows */
async function findLastKeys(config: Config, backup: Snapshot): Promise<Map<string, bigint>> {
  await using store = await Snapshot.open(config);
  const lastKeys = new Map<string, bigint>();
  for (const table of TABLES) {
    const stored = await digestTable('comparing', store, table);
    const sql = `SELECT CAST(MAX(id) AS TEXT) AS last FROM ${table.name}`;
    const [row] = await store.query<{ last: string | null }>(sql);
    if (row?.last == null) continue;
    const to = BigInt(row.last);
    const same = await digestTable('comparing', backup, table, { to });
    if (same.sha256 !== stored.sha256) {
      throw new Error(
        `the store contains ${table.name} that are not in the backup: restore needs an empty store; nothing was written`,
      );
    }
    lastKeys.set(table.name, to);
  }
  return lastKeys;
}

/** @throws Error naming the first table whose digest is missing or different */
function assertSame(digests: Digests, expected: ReadonlyMap<string, string>): void {
  for (const [name, is] of formatDigests(digests)) {
    const was = expected.get(name);
    if (was === undefined) throw new Error(`the digest of ${name} is missing`);
    if (is !== was) throw new Error(`${name} differ: ${is} instead of ${was}`);
  }
}
