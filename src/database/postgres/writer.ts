import type { DataSource } from 'typeorm';
import { Writer } from '../engine.js';
import type { PostgresInspector } from './inspector.js';

const get = (name: string) => `current_setting('${name}')`;

/** Whether this is a session of Citus's coordinator on a worker, by the name that it gives to them. */
const ON_WORKER = `${get('application_name')} LIKE 'citus\\_internal%'`;

/** The level of warnings. Citus's coordinator passes on at debug1 those of its workers' commits. */
const MESSAGES = `
  CASE WHEN ${ON_WORKER} OR current_setting('citus.worker_min_messages', true) IS NULL THEN 'warning' ELSE 'debug1' END`;

/**
 * Always true. Makes the commit wait for stable storage, and warn if it does not wait for the standby, whatever the role or
 * the server has lowered: for the transaction alone, as a pooler may stand between; on a worker of Citus for the session,
 * as `COMMIT PREPARED` is a transaction of its own.
 */
export const SET_LEVEL = `
  set_config('client_min_messages', ${MESSAGES}, NOT ${ON_WORKER}) <> ''
  AND set_config('synchronous_commit',
    CASE ${get('synchronous_commit')} WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, NOT ${ON_WORKER}) <> ''`;

/** Writes over TypeORM's pool. No session state and no named statements, so a pooler may stand between. */
export class PostgresWriter extends Writer {
  readonly system = 'postgresql';
  /** See docs/performance.md: the slower a commit, the more plants share it. */
  readonly concurrency = 4;
  override readonly commitLevel = SET_LEVEL;

  constructor(
    private readonly store: DataSource,
    private readonly inspector: PostgresInspector,
  ) {
    super();
  }

  override query<Row>(sql: string, parameters?: unknown[]): Promise<Row[]> {
    return this.store.query<Row[]>(sql, parameters);
  }

  override async inspect(): Promise<void> {
    const [problem] = await this.inspector.inspect(this.store, this.store.manager);
    if (problem) throw problem;
  }

  override async assertVisible(): Promise<void> {
    type Row = { isHidden: boolean | null };
    const sql = `SELECT row_security_active(to_regclass('tokens')) AS "isHidden"`;
    const [row] = await this.query<Row>(sql);
    if (row?.isHidden !== false) await this.inspect();
  }

  override async commitNothing(): Promise<void> {
    // The insert of no plants waits for the locks that an insert waits for.
    await this.query(`
      WITH inserted AS (INSERT INTO plants (id) SELECT 0 WHERE false RETURNING id)
      SELECT (SELECT count(*) FROM inserted), pg_logical_emit_message(true, 'plant-store', ''), ${SET_LEVEL}`);
  }
}
