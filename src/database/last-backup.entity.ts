import { Column, Entity, PrimaryColumn, type EntityManager } from 'typeorm';
import { TIME } from './column-types.js';

/** When the last backup was finished: the one row. No backup has it, as it is of the store alone. */
@Entity('backups')
export class LastBackup {
  @PrimaryColumn({ type: 'integer' })
  id!: number;

  @Column({ name: 'finished_at', type: 'bigint', transformer: TIME })
  finishedAt!: Date;
}

/** When the last backup of a store was finished; undefined if none was. */
export async function findLastBackup(store: EntityManager): Promise<Date | undefined> {
  return (await store.findOneBy(LastBackup, { id: 1 }))?.finishedAt;
}

export async function recordBackup(store: EntityManager): Promise<void> {
  await store.upsert(LastBackup, { id: 1, finishedAt: new Date() }, ['id']);
}
