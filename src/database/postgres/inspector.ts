import type { DataSource, EntityManager } from 'typeorm';
import { AvailabilityLog } from '../../errors/availability-log.js';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { describeError, readCode } from '../../errors/operator-message.js';
import { Logger, type Access } from '../engine.js';
import { insertMigration, listMissing } from '../schema.js';
import type { Finding } from '../store-errors.js';
import { describeTables, type TableShape, MIGRATIONS_TABLE } from '../tables.js';
import { OUT_OF_ORDER } from './client.js';
import {
  findProblems,
  MAY_READ_SERVER,
  selectBehind,
  SERVER,
  type Sequence,
} from './inspection.js';
import { FIND_ON_WORKERS } from './settings.js';

type Runner = Pick<EntityManager, 'query'>;
type Rights = (table: string) => readonly string[];

const readMigrations: Rights = (table) => (table === MIGRATIONS_TABLE ? ['SELECT'] : []);

const SERVED: Readonly<Record<string, readonly string[] | undefined>> = {
  plants: ['SELECT', 'INSERT'],
  tokens: ['SELECT', 'UPDATE'],
  backups: ['SELECT'],
};
const OWN = ['backups', MIGRATIONS_TABLE];
const ALL = ['SELECT', 'INSERT', 'UPDATE'];

/** The rights that an access needs on all columns of a table: those that docs/operating.md#roles grants. */
const RIGHTS: Readonly<Record<Access, Rights>> = {
  serve: (table) => SERVED[table] ?? readMigrations(table),
  create: readMigrations,
  fill: (table) => (OWN.includes(table) ? readMigrations(table) : ALL),
  token: (table) => (table === 'tokens' ? ALL : readMigrations(table)),
  backup: (table) => (table === 'backups' ? ALL : readMigrations(table)),
  read: readMigrations,
};

/** What identifies a store. */
interface Identity {
  /** Null if the role may not read it. */
  readonly server: string | null;
  readonly database: string;
  readonly tables: Readonly<Record<string, string>> | null;
}

type Found = Identity & {
  readonly problems: readonly Finding[] | null;
  /** Those that the role can read. */
  readonly sequences: readonly Sequence[] | null;
  readonly has_workers: boolean;
};

const GO_BACK =
  'lead it back; if all plants are here (docs/operating.md#moving-to-a-copy), restart the service';

/** Inspects the store of a pool's sessions. */
export class PostgresInspector {
  /** Counts the inspections that have found a problem: a session from before one may have old settings. */
  generation = 0;
  private tables: readonly TableShape[] = [];
  private sql: string | undefined;
  private latest: Identity | undefined;
  /** Set while a service runs: then it must stay the same store. */
  private origin: Identity | undefined;
  private readonly workers = new AvailabilityLog(new Logger('Store'), 'a worker of Citus');

  constructor(private readonly access: Access) {}

  /** Whether each new session is to be inspected. */
  get isServing(): boolean {
    return this.origin !== undefined;
  }

  /** To be called once the store that was inspected last is what the service begins with. */
  keepIdentity(): void {
    this.origin = this.latest;
  }

  /** Inspects an opened store, on its workers too. */
  async inspect(store: DataSource, runner: Runner): Promise<readonly Finding[]> {
    const withRights = (table: TableShape) => ({
      ...table,
      rights: RIGHTS[this.access](table.name),
    });
    if (this.tables.length === 0) this.tables = (await describeTables(store)).map(withRights);
    return this.find(runner, (found) => (found.has_workers ? this.findOnWorkers(runner) : []));
  }

  /** Finds what a session shows. @param findMore what else is to be looked at if that is as it must be */
  async find(
    runner: Runner,
    findMore: (found: Found) => Promise<Finding[]> | Finding[] = () => [],
  ): Promise<readonly Finding[]> {
    const writes = this.access !== 'read';
    const parameters = [JSON.stringify(this.tables), this.isServing, writes, !this.isServing];
    const [found] = await this.ask(runner, parameters);
    if (found?.database === undefined) {
      this.generation += 1;
      throw new StoreUnavailableException(OUT_OF_ORDER);
    }
    let problems = found.problems ?? [];
    if (problems.length === 0) problems = this.compareIdentity(found);
    if (problems.length === 0) problems = await findInRows(runner, found);
    if (problems.length === 0) problems = await findMore(found);
    if (problems.length > 0) this.generation += 1;
    return problems;
  }

  private async ask(runner: Runner, parameters: unknown[]): Promise<(Found | undefined)[]> {
    const sql = this.sql ?? (await this.makeSql(runner));
    try {
      const found = await runner.query<(Found | undefined)[]>(sql, parameters);
      this.sql = sql;
      return found;
    } catch (error) {
      const { driverError = error } = error as { driverError?: unknown };
      const hasLostRight = this.sql !== undefined && readCode(driverError) === '42501';
      this.sql = undefined;
      // The right to read the server's identity was revoked.
      if (hasLostRight) return this.ask(runner, parameters);
      throw error;
    }
  }

  private async makeSql(runner: Runner): Promise<string> {
    const [server] = await runner.query<{ may: boolean }[]>(MAY_READ_SERVER);
    const columns = Math.max(...this.tables.map((table) => table.columns.length));
    return findProblems(server?.may ? SERVER : 'NULL', { tables: this.tables.length, columns });
  }

  private compareIdentity({ server, database, tables }: Identity): Finding[] {
    this.latest = { server, database, tables };
    const { origin } = this;
    const tell = (what: string, remedy: string) => [{ effect: 'unsafe', what, remedy } as const];
    if (!origin) return [];
    // A role may lose the right to read it.
    if (server !== null && origin.server !== null && server !== origin.server)
      return tell('DATABASE_URL leads to another server than when the service started', GO_BACK);
    if (database !== origin.database)
      return tell('another database has taken the name of the store', GO_BACK);
    const replaced = Object.keys(origin.tables ?? {}).find(
      (name) => tables?.[name] !== origin.tables?.[name],
    );
    if (replaced === undefined) return [];
    const what = `the table ${replaced} was replaced, or taken away, while the service runs`;
    return tell(what, 'put the former one back, or restart the service');
  }

  private async findOnWorkers(runner: Runner): Promise<Finding[]> {
    type Node = { node: string; success: boolean; result: string };
    // A worker that does not respond keeps plants of its own shards out, and no others.
    const nodes = await runner.query<Node[]>(FIND_ON_WORKERS).catch((error: unknown) => {
      return [{ node: 'one of them', success: false, result: describeError(error) }];
    });
    const dead = nodes.find(({ success }) => !success);
    if (dead) this.workers.markUnavailable(new Error(`${dead.node}: ${dead.result}`));
    else this.workers.markAvailable();
    return nodes.flatMap(({ node, success, result }) => {
      if (!success || result === '') return [];
      const [what, remedy] = JSON.parse(result) as [string, string];
      return [{ effect: 'unsafe', what: `on the worker ${node} ${what}`, remedy } as const];
    });
  }
}

/** Finds migrations that are missing, and sequences that would give a key again. */
async function findInRows(runner: Runner, { sequences }: Found): Promise<Finding[]> {
  const ran = await listRows(runner, `SELECT name FROM ${MIGRATIONS_TABLE}`, 'name');
  const [missing] = listMissing(ran);
  if (missing) {
    const remedy = `its tables are there: put its row back by \`${insertMigration(missing)}\``;
    return [{ effect: 'missing', what: `the migration ${missing} is missing`, remedy }];
  }
  if (!sequences) return [];
  const behind = await listRows(
    runner,
    sequences.map(selectBehind).join(' UNION ALL '),
    'sequence',
  );
  return sequences.flatMap(({ table, key, sequence }) => {
    if (!behind.includes(sequence)) return [];
    const what = `the sequence of ${table}.${key} is behind its rows, as after logical replication`;
    const advance = `SELECT setval('${sequence}', MAX(${key})) FROM ${table}`;
    return [{ effect: 'unsafe', what, remedy: `run \`${advance}\`` } as const];
  });
}

/** @throws StoreUnavailableException if the rows are those of another statement, as a proxy may have repeated a message */
async function listRows(runner: Runner, sql: string, column: string): Promise<unknown[]> {
  const rows: unknown = await runner.query<unknown>(sql);
  if (!Array.isArray(rows) || !rows.every((row) => column in Object(row)))
    throw new StoreUnavailableException(OUT_OF_ORDER);
  return rows.map((row: Record<string, unknown>) => row[column]);
}
