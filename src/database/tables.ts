import { readdirSync } from 'node:fs';
import type { DataSource, EntityMetadata } from 'typeorm';
import type { Column, ColumnType } from './column-types.js';
import { LastBackup } from './last-backup.entity.js';

type Entity = abstract new () => unknown;

/** The folder of the modules' folders. */
const ROOT = new URL('../', import.meta.url);

let entities: Promise<Entity[]> | undefined;

/** Loads the entities of every module, from its files `*.entity`: for commands, which do without Nest's modules. */
export function loadEntities(): Promise<Entity[]> {
  // Each opening of a store asks for them, and on SQLite each inspection that follows a finding.
  return (entities ??= importEntities());
}

async function importEntities(): Promise<Entity[]> {
  // globSync() would take 20 ms of each start.
  const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).sort();
  const modules = await Promise.all(
    files
      .filter((file) => /\.entity\.[jt]s$/.test(file))
      .map((file) => import(new URL(file, ROOT).href) as Promise<Record<string, unknown>>),
  );
  // TypeORM leaves out what is no entity.
  return modules
    .flatMap((module) => Object.values(module))
    .filter((value): value is Entity => typeof value === 'function');
}

export const MIGRATIONS_TABLE = 'plant_store_migrations';

/** A table as an inspection must find it. */
export interface TableShape {
  readonly name: string;
  readonly columns: readonly {
    readonly name: string;
    /** As the database names it: `character varying(9)`. */
    readonly type: string;
    readonly isNullable: boolean;
  }[];
  /** The column of the primary key; null if it has several. */
  readonly key: string | null;
  /** Whether the database generates the key. */
  readonly isGenerated: boolean;
}

/** Describes every table of a store: those of the entities of all modules, and the list of migrations. */
export async function describeTables(store: DataSource): Promise<readonly TableShape[]> {
  const { driver } = store;
  const entities: readonly unknown[] = await loadEntities();
  const ours = store.entityMetadatas.filter(({ target }) => entities.includes(target));
  const shapes = ours
    .filter(hasTable)
    .map(({ tableName, columns, primaryColumns, generatedColumns }) => ({
      name: tableName,
      columns: columns.map((column) => ({
        name: column.databaseName,
        type: driver.normalizeType(column) + (column.length ? `(${column.length})` : ''),
        isNullable: column.isNullable,
      })),
      key: primaryColumns.length === 1 ? (primaryColumns[0]?.databaseName ?? null) : null,
      isGenerated: generatedColumns.length > 0,
    }));
  const types = Object.entries({ id: 'integer', timestamp: 'bigint', name: 'varchar' } as const);
  const columns = types.map(([name, type]) => {
    return { name, type: driver.normalizeType({ type }), isNullable: false };
  });
  return [...shapes, { name: MIGRATIONS_TABLE, columns, key: 'id', isGenerated: true }];
}

/** Whether an entity has a table of its own: a view has no rows, and the child of an entity has its parent's table. */
function hasTable({ tableType }: EntityMetadata): boolean {
  return !/view|child/.test(tableType);
}

/** A table of a store with all of its columns, as its entity has them. */
export interface Table extends Pick<TableShape, 'name' | 'isGenerated'> {
  readonly columns: readonly (Column & { readonly field: string })[];
  /** The column of the primary key. */
  readonly key: Column;
}

/** By the types of the drivers. */
const TYPES: Readonly<Record<string, ColumnType>> = {
  text: 'text',
  varchar: 'text',
  'character varying': 'text',
  bigint: 'bigint',
  integer: 'integer',
  boolean: 'boolean',
};

/**
 * Lists the tables of a store that a backup has, each behind those that its foreign keys refer to. @throws Error naming one
 * that no backup can carry
 */
export function listTables({ entityMetadatas }: DataSource): readonly Table[] {
  const seen = new Set<EntityMetadata>();
  const listed: EntityMetadata[] = [];
  const list = (metadata: EntityMetadata): void => {
    if (seen.has(metadata)) return;
    seen.add(metadata);
    for (const { referencedEntityMetadata: parent, deferrable } of metadata.foreignKeys) {
      list(parent);
      if (listed.includes(parent) || deferrable === 'INITIALLY DEFERRED') continue;
      const circle = `the table ${metadata.tableName} refers to ${parent.tableName} in a circle`;
      throw new Error(`${circle}, which no restore can fill: use deferrable: 'INITIALLY DEFERRED'`);
    }
    listed.push(metadata);
  };
  const tables = entityMetadatas.filter(hasTable).filter(({ target }) => target !== LastBackup);
  for (const metadata of tables.sort((a, b) => (a.tableName < b.tableName ? -1 : 1)))
    list(metadata);
  return listed.map(toTable);
}

/** @throws Error if no backup can carry it */
export function toTable(entity: EntityMetadata): Table {
  const { tableName, primaryColumns, generatedColumns } = entity;
  const columns = entity.columns.map((column) => {
    const given = entity.dataSource.driver.normalizeType(column);
    const type = column.isArray ? undefined : TYPES[given];
    const { databaseName: name, propertyName: field } = column;
    if (type) return { field, name, type };
    const types = [...new Set(Object.values(TYPES))].join(', ');
    throw new Error(
      `the column ${name} of ${tableName} is of type ${given}, which no backup can carry: use ${types}`,
    );
  });
  const key = columns.find(({ name }) => name === primaryColumns[0]?.databaseName);
  if (!key || primaryColumns.length > 1)
    throw new Error(
      `the table ${tableName} needs a primary key of one column: no backup can carry it`,
    );
  return { name: tableName, columns, key, isGenerated: generatedColumns.length > 0 };
}
