import { randomBytes } from 'node:crypto';
import { Client, types } from 'pg';
import { TemporaryStore } from './temporary-store.js';

/** A store in a database of its own on the server of the tests. */
export class PostgresStore extends TemporaryStore {
  /**
   * @param server the address of a database on the server, whose role may make and drop others
   * @param database the store's own database, which is there already
   */
  constructor(
    private readonly server: string,
    private readonly database: string,
  ) {
    super();
  }

  /** @param server the address of a database on the server, whose role may make others */
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

  override rows<Row>(sql: string): Promise<Row[]> {
    return run<Row>(this.url, sql);
  }

  override async execute(sql: string): Promise<void> {
    await run(this.url, sql);
  }

  override async lock(): Promise<() => Promise<void>> {
    const client = await connect(this.url);
    await client.query('BEGIN; LOCK TABLE plants IN SHARE ROW EXCLUSIVE MODE');
    return () => client.end();
  }

  override refuse(name: string): Promise<void> {
    return this.execute(`ALTER TABLE plants ADD CONSTRAINT refuse CHECK (name <> '${name}')`);
  }

  override async remove(): Promise<void> {
    await run(this.server, `DROP DATABASE IF EXISTS ${this.database} WITH (FORCE)`);
    await super.remove();
  }
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.setTypeParser(types.builtins.INT8, BigInt);
  await client.connect();
  return client;
}

async function run<Row>(url: string, sql: string): Promise<Row[]> {
  const client = await connect(url);
  try {
    return (await client.query(sql)).rows as Row[];
  } finally {
    await client.end();
  }
}
