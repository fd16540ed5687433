import type { DataSource, EntityManager } from 'typeorm';
import { COMMAND } from '../../config/config.js';
import { AvailabilityLog } from '../../errors/availability-log.js';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { describeError } from '../../errors/operator-message.js';
import { Logger, type Access } from '../engine.js';
import { MIGRATIONS } from '../schema.js';
import { StoreProblem, type ProblemEffect } from '../store-errors.js';
import { describeTables, type TableShape, MIGRATIONS_TABLE } from '../tables.js';
import { OUT_OF_ORDER } from './client.js';
import { findProblems, MAY_READ_SERVER, selectSequence, SERVER } from './inspection.js';
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
  readonly problems: readonly { effect: ProblemEffect; what: string; remedy: string }[] | null;
  /** The tables with a sequence that can be compared with their key. */
  readonly numbered: readonly { name: string; key: string }[] | null;
  readonly has_workers: boolean;
};

const GO_BACK =
  'lead it back; if all plants are here (docs/operating.md#moving-to-a-copy), restart the service';

/** Inspects the store of a pool's sessions. */
export class PostgresInspector {
  /** Counts the inspections that have found a problem: a session from before one may have old settings. */
  generation = 0;
  private shapes: readonly TableShape[] = [];
  private sql = '';
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
  async inspect(store: DataSource, runner: Runner): Promise<readonly StoreProblem[]> {
    if (this.sql === '') {
      this.shapes = await describeTables(store);
      const [server] = await runner.query<{ may: boolean }[]>(MAY_READ_SERVER);
      this.sql = findProblems(server?.may ? SERVER : 'NULL');
    }
    return this.find(runner, (found) => (found.has_workers ? this.findOnWorkers(runner) : []));
  }

  /** Finds what a session shows. @param findMore what else is to be looked at if that is as it must be */
  async find(
    runner: Runner,
    findMore: (found: Found) => Promise<StoreProblem[]> | StoreProblem[] = () => [],
  ): Promise<readonly StoreProblem[]> {
    const tables = this.shapes.map((shape) => ({
      ...shape,
      rights: RIGHTS[this.access](shape.name),
    }));
    const writes = this.access !== 'read';
    const parameters = [JSON.stringify(tables), this.isServing, writes, !this.isServing];
    const [found] = await runner.query<(Found | undefined)[]>(this.sql, parameters);
    if (found?.database === undefined) {
      this.generation += 1;
      throw new StoreUnavailableException(OUT_OF_ORDER);
    }
    let problems = (found.problems ?? []).map(
      ({ effect, what, remedy }) => new StoreProblem(effect, what, remedy),
    );
    if (problems.length === 0) problems = this.compareIdentity(found);
    if (problems.length === 0) problems = await findInRows(runner, found);
    if (problems.length === 0) problems = await findMore(found);
    if (problems.length > 0) this.generation += 1;
    return problems;
  }

  private compareIdentity({ server, database, tables }: Identity): StoreProblem[] {
    this.latest = { server, database, tables };
    const { origin } = this;
    const tell = (what: string, remedy: string) => [new StoreProblem('unsafe', what, remedy)];
    if (!origin) return [];
    if (server !== origin.server)
      return tell('DATABASE_URL leads to another server than when the service started', GO_BACK);
    if (database !== origin.database)
      return tell('another database has taken the name of the store', GO_BACK);
    const replaced = Object.keys(origin.tables ?? {}).find(
      (name) => tables?.[name] !== origin.tables?.[name],
    );
    if (replaced === undefined) return [];
    const what = `the table ${replaced} was replaced while the service runs`;
    return tell(what, 'put the former one back, or restart the service');
  }

  private async findOnWorkers(runner: Runner): Promise<StoreProblem[]> {
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
      return [new StoreProblem('unsafe', `on the worker ${node} ${what}`, remedy)];
    });
  }
}

/** Finds migrations that are missing, and sequences that would give a key again. */
async function findInRows(runner: Runner, { numbered }: Found): Promise<StoreProblem[]> {
  const ran = await runner.query<{ name: string }[]>(`SELECT name FROM ${MIGRATIONS_TABLE}`);
  const missing = MIGRATIONS.find(({ name }) => !ran.some((row) => row.name === name));
  if (missing) {
    const remedy = `run \`${COMMAND} migrate\`, or restore a backup (docs/operating.md#restore)`;
    return [new StoreProblem('missing', `the migration ${missing.name} is missing`, remedy)];
  }
  if (!numbered) return [];
  const sql = numbered.map(({ name, key }) => selectSequence(name, key)).join(' UNION ALL ');
  const behind = await runner.query<{ table: string; key: string }[]>(sql);
  return behind.map(({ table, key }) => {
    const advance = `SELECT setval(pg_get_serial_sequence('${table}', '${key}'), MAX(${key})) FROM ${table}`;
    const what = `the sequence of ${table}.${key} is behind its rows, as after logical replication`;
    return new StoreProblem('unsafe', what, `run \`${advance}\``);
  });
}
