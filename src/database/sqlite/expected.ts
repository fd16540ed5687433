import type { DataSource } from 'typeorm';
import { COMMAND } from '../../config/config.js';
import { insertMigration, MIGRATIONS } from '../schema.js';
import { describeTables, MIGRATIONS_TABLE } from '../tables.js';
import type { Expected } from './inspection.js';
import { quote } from './place.js';
import { findFreeName, moveAside } from './put-back.js';

/** Describes what an inspection must find. The commands use names that are free now. */
export async function describeExpected(store: DataSource, file: string): Promise<Expected> {
  return {
    tables: await describeTables(store),
    migrationsTable: MIGRATIONS_TABLE,
    migrations: MIGRATIONS.map(({ name }) => ({ name, insert: insertMigration(name) })),
    putBackup: `\`${putBackup(file)}\``,
    convertToUtf8: `\`${convertToUtf8(file)}\``,
  };
}

/** Returns the command that puts a backup of a file in its place, and moves the file aside. */
export function putBackup(file: string): string {
  const backup = findFreeName(file, 'new');
  return `${COMMAND} backup ${quote(backup)} && ${replaceBy(backup, file)}`;
}

/** Returns the command that converts a file to UTF-8. A dump that failed has no COMMIT, and sqlite3 exits with 0 all the same. */
export function convertToUtf8(file: string): string {
  const [dump, converted] = [findFreeName(file, 'sql'), findFreeName(file, 'utf-8')];
  return [
    `sqlite3 ${quote(file)} .dump > ${quote(dump)}`,
    `tail -n 1 ${quote(dump)} | grep -qx 'COMMIT;'`,
    `sqlite3 ${quote(converted)} < ${quote(dump)}`,
    replaceBy(converted, file),
  ].join(' && ');
}

function replaceBy(replacement: string, file: string): string {
  return `${moveAside(file, 'old')} && mv ${quote(replacement)} ${quote(file)}`;
}
