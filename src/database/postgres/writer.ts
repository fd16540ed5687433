import type { DataSource } from 'typeorm';
import { Writer } from '../engine.js';
import { StoreProblem } from '../store-errors.js';
import type { PostgresInspector } from './inspector.js';
import { SET_LEVEL, statements } from './statements.js';

/** Writes over TypeORM's pool. No session state and no named statements, so a pooler may stand between. */
export class PostgresWriter extends Writer {
  readonly statements = statements;
  /** See docs/performance.md: the slower a commit, the more plants share it. */
  readonly concurrency = 4;

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
    if (problem) throw new StoreProblem(problem);
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
