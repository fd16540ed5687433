import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * A stored plant. SQLite keeps the table in the order of its key, without a hidden second one
 * (`WITHOUT ROWID`, sqlite.org/withoutrowid.html); PostgreSQL does not know the option.
 */
@Entity('plants', { withoutRowid: true })
export class Plant {
  /** int64 in decimal digits: no driver has a number that holds it. */
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @Column({ type: 'text' })
  name!: string;

  @Column({ type: 'text', nullable: true })
  tag!: string | null;
}
