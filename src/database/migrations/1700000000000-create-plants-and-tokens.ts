import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';

export class CreatePlantsAndTokens1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'plants',
        withoutRowid: true,
        columns: [
          { name: 'id', type: 'bigint', isPrimary: true },
          { name: 'name', type: 'text' },
          { name: 'tag', type: 'text', isNullable: true },
          // The text stands first: PostgreSQL aligns a bigint to 8 bytes, and the end of a row too.
          { name: 'created_by', type: 'text', isNullable: true },
          { name: 'created_at', type: 'bigint', isNullable: true },
        ],
      }),
    );
    await runner.createTable(
      new Table({
        name: 'tokens',
        columns: [
          {
            name: 'id',
            type: 'integer',
            isPrimary: true,
            isGenerated: true,
            generationStrategy: 'increment',
          },
          { name: 'name', type: 'text' },
          { name: 'hash', type: 'text', isUnique: true },
          { name: 'created_at', type: 'bigint' },
          { name: 'expires_at', type: 'bigint', isNullable: true },
          { name: 'revoked_at', type: 'bigint', isNullable: true },
          { name: 'last_used_at', type: 'bigint', isNullable: true },
        ],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('tokens');
    await runner.dropTable('plants');
  }
}
