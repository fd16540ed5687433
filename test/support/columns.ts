import { getMetadataArgsStorage } from 'typeorm';

type Entity = abstract new () => unknown;

/** Definitions in SQL by the names of their columns, such as `{ id: 'bigint NOT NULL' }`. */
export type Definitions = Readonly<Record<string, string>>;

/** The columns of an entity, whichever it has today, as SQL without its keys. */
function readColumns(entity: Entity): Definitions {
  const columns = getMetadataArgsStorage().columns.filter(({ target }) => target === entity);
  return Object.fromEntries(
    columns.map(({ propertyName, options: { name = propertyName, type, nullable } }) => [
      name,
      `${String(type)}${nullable ? '' : ' NOT NULL'}`,
    ]),
  );
}

/** The names of an entity's columns, as a list of SQL. */
export function nameColumns(entity: Entity): string {
  return Object.keys(readColumns(entity)).map(quote).join(', ');
}

/**
 * What `CREATE TABLE` has in its parentheses for an entity: its columns, without a key.
 *
 * @param changed definitions in place of its own, and those of further columns
 */
export function defineColumns(entity: Entity, changed: Definitions = {}): string {
  return Object.entries({ ...readColumns(entity), ...changed })
    .map(([name, definition]) => `${quote(name)} ${definition}`)
    .join(', ');
}

/** SQL that makes the table of an entity again, with its rows and other definitions. The former one gets the name `former`. */
export function remakeTable(entity: Entity, former: string, changed?: Definitions): string {
  const { name } = getMetadataArgsStorage().tables.find(({ target }) => target === entity) ?? {};
  const names = nameColumns(entity);
  return `
    ALTER TABLE ${name} RENAME TO ${former}; CREATE TABLE ${name} (${defineColumns(entity, changed)});
    INSERT INTO ${name} (${names}) SELECT ${names} FROM ${former}`;
}

// A field may have the name of a keyword.
function quote(name: string): string {
  return `"${name}"`;
}
