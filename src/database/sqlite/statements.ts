import { hasSameKey, insertFrom, isSame, type Statements } from '../statements.js';

export const statements: Statements = {
  insert: (table) => insertFrom('jsonb_each(?)', table),

  insertFree: (table) => `
    ${insertFrom('jsonb_each(?)', table)} WHERE true ON CONFLICT ("${table.key.name}") DO NOTHING`,

  compare: (table, content) => `
    SELECT sent.key AS place, ${isSame(table, content, 'BINARY')} AS same
    FROM jsonb_each(?) AS sent JOIN "${table.name}" ON ${hasSameKey(table)}`,

  recordUses: (table, column) => `
    UPDATE ${table} SET ${column} = uses.value->>1
    FROM json_each(?) AS uses WHERE ${table}.id = uses.value->>0`,

  // A write of no row takes SQLite's lock.
  lockChanges: (table) => `UPDATE ${table} SET id = id WHERE false`,
};
