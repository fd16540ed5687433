import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';

export class CreateBackups1795600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'backups',
        columns: [
          { name: 'id', type: 'integer', isPrimary: true },
          { name: 'finished_at', type: 'bigint' },
        ],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('backups');
  }
}
