/**
 * What makes a store on PostgreSQL the one that a service has begun with: the server, the database, and each table. By name
 * they could be exchanged meanwhile: the former ones have the acknowledged plants and the tokens. So each is known by what a
 * rename keeps, the server by its own identifier, database and tables by their OIDs.
 */
import type { EntityManager } from 'typeorm';
import type { Finding } from '../store-errors.js';
import { RESTORE } from '../store-errors.js';

export type Runner = Pick<EntityManager, 'query'>;

export interface Identity {
  /** The server's own identifier; null if the role may not read it. */
  readonly server: string | null;
  readonly database: string;
  /** By their OIDs, each table of the store, and each partition, with the `whole` that it is a part of. */
  readonly tables: Readonly<Record<string, Part>> | null;
}

type Part = Readonly<{ name: string; whole: string }>;

const GO_BACK =
  'let it lead there again, without a restart (docs/operating.md#postgresql-is-away-or-is-another-one); only if the store was ' +
  'moved on purpose and all plants are here (docs/operating.md#moving-to-a-copy), restart the service';
const GO_ON = 'only to go on without its rows, restart the service';

/** Finds that a store is no longer the one that a service has begun with. */
export async function compareIdentity(
  runner: Runner,
  origin: Identity,
  { server, database, tables }: Identity,
): Promise<Finding[]> {
  const report = (what: string, remedy: string) => [{ effect: 'unsafe', what, remedy } as const];
  // The role may gain or lose the right to read the identifier.
  if (server !== null && origin.server !== null && server !== origin.server) {
    const what = `DATABASE_URL leads to another server (system identifier ${server}) than when the service started (${origin.server})`;
    return report(what, GO_BACK);
  }
  if (database !== origin.database)
    return report('another database has taken the name of the store', GO_BACK);
  const replaced = Object.entries(origin.tables ?? {}).find(([oid]) => !tables?.[oid]);
  if (!replaced) return [];
  const [oid, part] = replaced;
  const what = `the table ${part.name} was replaced, detached or dropped while the service runs`;
  const [former] = await runner.query<{ name: string }[]>(
    'SELECT oid::regclass::text AS name FROM pg_class WHERE oid = $1',
    [oid],
  );
  return report(what, former ? putBack(part, former.name) : `${RESTORE}; ${GO_ON}`);
}

/** @param former the name that the table has now */
function putBack({ name, whole }: Part, former: string): string {
  if (name !== whole)
    return `attach it again by \`ALTER TABLE ${whole} ATTACH PARTITION ${former} FOR VALUES …\`, with its former bounds; ${GO_ON}`;
  const rename = `ALTER TABLE ${name} RENAME TO ${name}_unused; ALTER TABLE ${former} RENAME TO ${name}`;
  return `put the former one back by \`${rename}\`, and insert what only ${name}_unused has; ${GO_ON}`;
}
