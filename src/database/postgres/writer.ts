import type { EntityManager } from 'typeorm';
import { Writer } from '../engine.js';
import { ASSERT_VISIBLE, COMMIT_COLUMN, PROBE, SET_LEVEL } from './safety.js';

/** Writes over TypeORM's pool. No session state and no named statements, so a pooler may stand between. */
export class PostgresWriter extends Writer {
  readonly system = 'postgresql';
  /** See docs/performance.md: the slower a commit, the more plants share it. */
  readonly concurrency = 4;
  override readonly commitLevel = SET_LEVEL;
  readonly durabilityColumn = COMMIT_COLUMN;

  constructor(private readonly manager: EntityManager) {
    super();
  }

  override query<Row>(sql: string, parameters?: unknown[]): Promise<Row[]> {
    return this.manager.query<Row[]>(sql, parameters);
  }

  override async probe(): Promise<void> {
    await this.query(PROBE);
  }

  override async assertVisible(): Promise<void> {
    await this.query(ASSERT_VISIBLE);
  }
}
