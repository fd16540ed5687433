/**
 * What makes a store on PostgreSQL the one that a service has begun with: the server, the database, and each table. By name
 * they could be exchanged meanwhile: the former ones have the acknowledged plants and the tokens. So each is known by what a
 * rename keeps, the server by its own identifier, database and tables by their OIDs.
 */
import { RESTORE, unsafe, type Finding } from '../finding.js';
import { listRows, type Runner } from './client.js';

export interface Identity {
  /** The server's own identifier; null if the role may not read it. */
  readonly server: string | null;
  readonly database: string;
  /** By their OIDs, each table of the store, and each partition, with the table that it is a partition of. */
  readonly tables: Readonly<Record<string, Part>> | null;
}

type Part = Readonly<{ name: string; parent: string | null }>;

const GO_TO_COPY =
  'only if the store was moved on purpose and all plants are here (docs/operating.md#moving-to-a-copy), restart the service';
const GO_ON = 'only to go on without the rows of the former one, restart the service';

/** Finds that a store is no longer the one that a service has begun with. */
export async function compareIdentity(
  runner: Runner,
  origin: Identity,
  { server, database, tables }: Identity,
): Promise<Finding[]> {
  // The role may gain or lose the right to read the identifier.
  if (server !== null && origin.server !== null && server !== origin.server) {
    const what = `DATABASE_URL leads to another server (system identifier ${server}) than when the service started (${origin.server})`;
    const remedy = `lead the host and port of DATABASE_URL back to the former server (docs/operating.md#postgresql-is-away-or-is-another-one), without a restart of the service; ${GO_TO_COPY}`;
    return [unsafe(what, remedy)];
  }
  if (database !== origin.database) {
    const remedy = `give it back to the former database, without a restart of the service, which \`ALTER DATABASE … ALLOW_CONNECTIONS false\` and pg_terminate_backend() keep away meanwhile; ${GO_TO_COPY}`;
    return [unsafe('another database has taken the name of the store', remedy)];
  }
  const lost = Object.entries(origin.tables ?? {}).filter(([oid]) => !tables?.[oid]);
  // The partitions of a table that was replaced are not there either.
  const [oid, part] = lost.find(([, { parent }]) => parent === null) ?? lost[0] ?? [];
  if (!part) return [];
  const what = `the table ${part.name} was replaced, detached or dropped while the service runs`;
  const [former] = await listRows<Former>(runner, FIND_FORMER, ['name', 'move'], [oid]);
  return [unsafe(what, `${former ? putBack(part, former) : RESTORE}; ${GO_ON}`)];
}

/** A table as it is named now, and the SQL that moves it into the schema of the store if it is in another one. */
type Former = Readonly<{ name: string; move: string }>;

const FIND_FORMER = `
  SELECT quote_ident(relname) AS name, CASE WHEN nspname = current_schema() THEN ''
    ELSE format('ALTER TABLE %s SET SCHEMA %I; ', pg_class.oid::regclass, current_schema()) END AS move
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE pg_class.oid = $1`;

function putBack({ name, parent }: Part, former: Former): string {
  if (parent !== null)
    return `attach it again by \`ALTER TABLE ${parent} ATTACH PARTITION ${former.name} FOR VALUES …\`, with its former bounds (\`\\d+ ${parent}\` shows those of the others)`;
  const rename = former.name === name ? '' : `ALTER TABLE ${former.name} RENAME TO ${name}; `;
  const unused = `${name.replaceAll('"', '')}_unused`;
  return (
    `put the former one back by \`BEGIN; ALTER TABLE ${name} RENAME TO ${unused}; ${former.move}${rename}COMMIT\`, ` +
    `and insert what only that has by \`INSERT INTO ${name} SELECT * FROM ${unused} ON CONFLICT DO NOTHING\``
  );
}
