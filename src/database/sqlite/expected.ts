import type { DataSource } from 'typeorm';
import { COMMAND } from '../../config/config.js';
import { insertMigration, MIGRATIONS } from '../schema.js';
import { describeTables, MIGRATIONS_TABLE } from '../tables.js';
import type { Expected } from './inspection.js';
import { findFreeName, moveAside, quote } from './put-back.js';

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

/** The command that puts a backup of a file in its place, and moves the file aside. */
export function putBackup(file: string): string {
  const backup = findFreeName(file, 'new');
  return `${COMMAND} backup ${quote(backup)} && ${replaceBy(backup, file)}`;
}

/** The command that makes a file anew in UTF-8. A dump that failed ends with ROLLBACK, and sqlite3 exits with 0 all the same. */
export function convertToUtf8(file: string): string {
  const [dump, converted] = ['sql', 'utf-8'].map((suffix) => findFreeName(file, suffix)) as [
    string,
    string,
  ];
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
