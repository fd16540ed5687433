/**
 * Inspects a store on PostgreSQL, by the SQL of inspection.ts: when it is opened, in each new session of a service, as
 * settings of a role show only after a login, and once a second, as operators change a server while it runs.
 *
 * 1. One statement returns the problems, also with the rights that this access needs, and what identifies the store.
 * 2. A service must stay with the store that it has begun with (identity.ts).
 * 3. Only if nothing is wrong so far, rows are read: whether a migration is missing, or a sequence would give a key again.
 * 4. Citus keeps rows on further servers, its workers: each has settings of its own. One that does not respond is only logged,
 *    as it keeps nobody from storing plants on the others.
 * 5. A proxy may have repeated a message of the server, so that a result is that of another statement. It shows by its
 *    columns, and is neither a problem nor the lack of one: the inspection fails.
 * 6. Each problem begins a new generation: pool.ts lends no session of an earlier one, which may have former settings.
 */
import type { DataSource } from 'typeorm';
import { AvailabilityLog } from '../../errors/availability-log.js';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { describeError, readCode } from '../../errors/operator-message.js';
import { Logger, type Access } from '../engine.js';
import { insertMigration, listMissing } from '../schema.js';
import { unsafe, type Finding } from '../finding.js';
import { describeTables, type TableShape, MIGRATIONS_TABLE } from '../tables.js';
import { listRows, OUT_OF_ORDER, type Runner } from './client.js';
import { compareIdentity, type Identity } from './identity.js';
import { findProblems, selectBehind, type Sequence } from './inspection.js';
import { FIND_ON_WORKERS } from './settings.js';

const ALL = ['SELECT', 'INSERT', 'UPDATE'];

/** The rights that an access needs on all columns of a table, as docs/operating.md#roles grants them; `*` is any other one. */
const RIGHTS: Readonly<Record<Access, Readonly<Record<string, readonly string[]>>>> = {
  serve: { plants: ['SELECT', 'INSERT'], tokens: ['SELECT', 'UPDATE'], backups: ['SELECT'] },
  create: {},
  fill: { backups: [], '*': ALL },
  token: { tokens: ALL },
  backup: { backups: ALL },
  read: {},
};

interface Found extends Identity {
  readonly problems: readonly Finding[] | null;
  /** The sequences of generated keys that the role can read. */
  readonly sequences: readonly Sequence[] | null;
  readonly has_workers: boolean;
}

export class PostgresInspector {
  /** The number of inspections that have found a problem, or have read a result that is not theirs. */
  generation = 0;
  private tables: readonly TableShape[] = [];
  private sql: string | undefined;
  private latest: Identity | undefined;
  /** The store that a service has begun with; undefined unless one runs. */
  private origin: Identity | undefined;
  private readonly workers = new AvailabilityLog(new Logger('Store'), 'a worker of Citus');

  constructor(private readonly access: Access) {}

  /** Whether each new session is to be inspected. */
  get isServing(): boolean {
    return this.origin !== undefined;
  }

  /** Must be called when a service begins to work with the store that was inspected last. */
  keepIdentity(): void {
    this.origin = this.latest;
  }

  /** Inspects an opened store, on its workers too. */
  async inspect(store: DataSource, runner: Runner): Promise<readonly Finding[]> {
    if (this.tables.length === 0) this.tables = await describeTables(store);
    return this.find(runner, true);
  }

  /** Inspects a store by one of its sessions. @throws StoreUnavailableException; the database's error */
  async find(runner: Runner, includesWorkers = false): Promise<readonly Finding[]> {
    const rights = RIGHTS[this.access];
    const tables = this.tables.map((table) => {
      const others = table.name === MIGRATIONS_TABLE ? ['SELECT'] : (rights['*'] ?? []);
      return { ...table, rights: rights[table.name] ?? others };
    });
    const parameters = [JSON.stringify(tables), this.isServing, this.access !== 'read'];
    const found = await this.ask(runner, parameters).catch((error: unknown) => {
      if (describeError(error) === OUT_OF_ORDER) this.generation += 1;
      throw error;
    });
    let problems = found.problems ?? [];
    if (problems.length === 0) problems = await this.compareIdentity(runner, found);
    if (problems.length === 0) problems = await findInRows(runner, found);
    if (problems.length === 0 && includesWorkers && found.has_workers)
      problems = await this.findOnWorkers(runner);
    if (problems.length > 0) this.generation += 1;
    return problems;
  }

  private async ask(runner: Runner, parameters: unknown[]): Promise<Found> {
    const keptSql = this.sql;
    try {
      const sql = keptSql ?? (await this.makeSql(runner));
      const [found] = await listRows<Found>(runner, sql, ['problems', 'database'], parameters);
      if (!found) throw new StoreUnavailableException(OUT_OF_ORDER);
      this.sql = sql;
      return found;
    } catch (error) {
      this.sql = undefined;
      const { driverError = error } = error as { driverError?: unknown };
      // If the right to read the server's identifier was revoked, the next SQL does without it.
      if (keptSql === undefined || readCode(driverError) !== '42501') throw error;
      return this.ask(runner, parameters);
    }
  }

  private async makeSql(runner: Runner): Promise<string> {
    const sql = `SELECT has_function_privilege('pg_control_system()', 'EXECUTE') AS may`;
    const [server] = await listRows<{ may: boolean }>(runner, sql, ['may']);
    const columns = Math.max(...this.tables.map((table) => table.columns.length));
    return findProblems(server?.may ?? false, { tables: this.tables.length, columns });
  }

  private async compareIdentity(runner: Runner, found: Identity): Promise<Finding[]> {
    this.latest = found;
    return this.origin ? compareIdentity(runner, this.origin, found) : [];
  }

  private async findOnWorkers(runner: Runner): Promise<Finding[]> {
    type Node = { node: string; success: boolean; result: string };
    const columns = ['node', 'success', 'result'] as const;
    const nodes = await listRows<Node>(runner, FIND_ON_WORKERS, columns).catch((error: unknown) => {
      return [{ node: 'one of them', success: false, result: describeError(error) }];
    });
    const dead = nodes.find(({ success }) => !success);
    if (dead) this.workers.markUnavailable(new Error(`${dead.node}: ${dead.result}`));
    else this.workers.markAvailable();
    return nodes.flatMap(({ node, success, result }) => {
      if (!success || result === '') return [];
      const [what, remedy] = JSON.parse(result) as [string, string];
      return [unsafe(`on the worker ${node} ${what}`, remedy)];
    });
  }
}

async function findInRows(runner: Runner, { sequences }: Found): Promise<Finding[]> {
  const ran = await listRows<{ name: string }>(runner, `SELECT name FROM ${MIGRATIONS_TABLE}`, [
    'name',
  ]);
  const [missing] = listMissing(ran.map(({ name }) => name));
  if (missing) {
    const remedy = `its tables are there: put its row back by \`${insertMigration(missing)}\``;
    return [{ effect: 'missing', what: `the migration ${missing} is missing`, remedy }];
  }
  if (!sequences) return [];
  const sql = sequences.map(selectBehind).join(' UNION ALL ');
  const behind = await listRows<Pick<Sequence, 'sequence'>>(runner, sql, ['sequence']);
  return sequences.flatMap(({ table, key, sequence }) => {
    if (!behind.some((row) => row.sequence === sequence)) return [];
    const what = `the sequence of ${table}.${key} is behind its rows, as after logical replication`;
    const advance = `SELECT setval('${sequence}', MAX(${key})) FROM ${table}`;
    return [unsafe(what, `run \`${advance}\``)];
  });
}
