import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, types } from 'pg';
import { TemporaryStore } from './temporary-store.js';

/** A store in a database of its own on the server of the tests. */
export class PostgresStore extends TemporaryStore {
  /** The connection for queries, from the first one until the server closes it. */
  private client: Promise<Client> | undefined;

  /**
   * @param server the URL of a database on the server; its role may create and drop others
   * @param database the store's own database, which exists
   */
  constructor(
    private readonly server: string,
    private readonly database: string,
  ) {
    super();
  }

  /** @param server the URL of a database on the server; its role may create others */
  static async create(server: string): Promise<PostgresStore> {
    const store = new PostgresStore(server, `plant_store_${randomBytes(6).toString('hex')}`);
    await run(server, `CREATE DATABASE ${store.database}`);
    return store;
  }

  get url(): string {
    const url = new URL(this.server);
    url.pathname = this.database;
    return url.href;
  }

  override async rows<Row>(sql: string): Promise<Row[]> {
    const client = await (this.client ??= this.open());
    return (await client.query(sql)).rows as Row[];
  }

  override async execute(sql: string): Promise<void> {
    await this.rows(sql);
  }

  override async lock(): Promise<() => Promise<void>> {
    const client = await connect(this.url);
    await client.query('BEGIN; LOCK TABLE plants IN SHARE ROW EXCLUSIVE MODE');
    return () => client.end();
  }

  /** Waits until a statement waits for a lock on a table. */
  async untilLocked(table: string): Promise<void> {
    const waiting = `
      SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
      WHERE NOT granted AND relation = '${table}'::regclass AND datname = current_database()`;
    while ((await this.rows(waiting)).length === 0) await sleep(5);
  }

  override refuse(name: string): Promise<void> {
    return this.execute(`ALTER TABLE plants ADD CONSTRAINT refuse CHECK (name <> '${name}')`);
  }

  /** Makes the server reload its settings. Resolves once every session has been signalled to do so. */
  async reload(): Promise<void> {
    const [row] = await this.rows<{ now: string }>('SELECT now()::text, pg_reload_conf()');
    const sql = `SELECT WHERE pg_conf_load_time() > '${row?.now}'`;
    // A new session has the settings of the server's first process, which signals the others first.
    for (let isDone = false; !isDone;) {
      const client = await connect(this.url);
      isDone = (await client.query(sql)).rowCount === 1;
      await client.end();
    }
  }

  override async remove(): Promise<void> {
    await (await this.client)?.end();
    await run(this.server, `DROP DATABASE IF EXISTS ${this.database} WITH (FORCE)`);
    await super.remove();
  }

  private open(): Promise<Client> {
    const opened = connect(this.url);
    // A test that stops its server continues with a new connection.
    const forget = () => (this.client = undefined);
    opened.then((client) => client.on('error', () => undefined).on('end', forget), forget);
    return opened;
  }
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.setTypeParser(types.builtins.INT8, BigInt);
  await client.connect();
  return client;
}

async function run(url: string, sql: string): Promise<void> {
  const client = await connect(url);
  await client.query(sql).finally(() => client.end());
}
