import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Who created a plant, and when. Both engines take these statements as they stand, and add a column
 * that may be null without reading the rows. TypeORM's own addColumn would copy SQLite's table. The
 * text stands first: PostgreSQL aligns a bigint to 8 bytes, and the end of a row too.
 */
export class AddAuditTrailToPlants1763700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE plants ADD COLUMN created_by text');
    await runner.query('ALTER TABLE plants ADD COLUMN created_at bigint');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE plants DROP COLUMN created_at');
    await runner.query('ALTER TABLE plants DROP COLUMN created_by');
  }
}
