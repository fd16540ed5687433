import { globSync } from 'node:fs';
import type { DataSource, EntityMetadata } from 'typeorm';
import type { Column, ColumnType } from './column-types.js';

type Entity = abstract new () => unknown;

/** The folder of the modules' folders. */
const ROOT = new URL('../', import.meta.url);

/** Loads the entities of every module, from its files `*.entity`: for commands, which do without Nest's modules. */
export async function loadEntities(): Promise<Entity[]> {
  const files = globSync('*/**/*.entity.{js,ts}', { cwd: ROOT }).sort();
  const modules = await Promise.all(
    files.map((file) => import(new URL(file, ROOT).href) as Promise<Record<string, unknown>>),
  );
  // TypeORM leaves out what is no entity.
  return modules.flatMap((module) => Object.values(module).filter(isClass));
}

function isClass(value: unknown): value is Entity {
  return typeof value === 'function';
}

export const MIGRATIONS_TABLE = 'plant_store_migrations';

/** What the migrations make beside the tables of entities, with the types of its columns. */
const TABLES_WITHOUT_ENTITY = [
  {
    name: 'backups',
    types: { id: 'integer', finished_at: 'bigint' },
    key: 'id',
    isGenerated: false,
  },
  {
    name: MIGRATIONS_TABLE,
    types: { id: 'integer', timestamp: 'bigint', name: 'varchar' },
    key: 'id',
    isGenerated: true,
  },
] as const;

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

/** Describes every table of a store: those of the entities of all modules, and those without an entity. */
export async function describeTables({
  driver,
  entityMetadatas,
}: DataSource): Promise<readonly TableShape[]> {
  const entities: readonly unknown[] = await loadEntities();
  const listed = entityMetadatas.filter(
    ({ target, tableType }) => entities.includes(target) && !/view|child/.test(tableType),
  );
  const toType = (column: Parameters<DataSource['driver']['normalizeType']>[0]) =>
    driver.normalizeType(column) + (column.length ? `(${column.length})` : '');
  const shapes = listed.map(({ tableName, columns, primaryColumns, generatedColumns }) => ({
    name: tableName,
    columns: columns.map((column) => ({
      name: column.databaseName,
      type: toType(column),
      isNullable: column.isNullable,
    })),
    key: primaryColumns.length === 1 ? (primaryColumns[0]?.databaseName ?? null) : null,
    isGenerated: generatedColumns.length > 0,
  }));
  const own = TABLES_WITHOUT_ENTITY.map(({ types, ...table }) => ({
    ...table,
    columns: Object.entries(types).map(([name, type]) => ({
      name,
      type: toType({ type }),
      isNullable: false,
    })),
  }));
  return [...shapes, ...own];
}

/** A table of a store with all of its columns, as its entity has them. */
export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** The column of the primary key. */
  readonly key: Column;
  /** Whether the database generates the key. */
  readonly isGenerated: boolean;
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

/** Lists the tables of a store, each behind those that its foreign keys refer to. @throws Error naming one that no backup can carry */
export function listTables({ entityMetadatas, driver }: DataSource): readonly Table[] {
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
  // A view has no rows of its own, and the child of an entity has its parent's table.
  const tables = entityMetadatas.filter(({ tableType }) => !/view|child/.test(tableType));
  for (const metadata of tables.sort((a, b) => (a.tableName < b.tableName ? -1 : 1)))
    list(metadata);
  return listed.map((metadata) => toTable(metadata, driver));
}

function toTable(
  { tableName, columns, primaryColumns, generatedColumns }: EntityMetadata,
  driver: DataSource['driver'],
): Table {
  const known = columns.map((column): Column => {
    const given = driver.normalizeType(column);
    const type = column.isArray ? undefined : TYPES[given];
    const { databaseName: name } = column;
    if (type) return { name, type };
    const types = [...new Set(Object.values(TYPES))].join(', ');
    throw new Error(
      `the column ${name} of ${tableName} is of type ${given}, which no backup can carry: use ${types}`,
    );
  });
  const key = known.find(({ name }) => name === primaryColumns[0]?.databaseName);
  if (!key || primaryColumns.length > 1)
    throw new Error(
      `the table ${tableName} needs a primary key of one column: no backup can carry it`,
    );
  return { name: tableName, columns: known, key, isGenerated: generatedColumns.length > 0 };
}
