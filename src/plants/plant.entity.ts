import { Column, Entity, PrimaryColumn } from 'typeorm';
import { INT64 } from '../database/column-types.js';

/** A stored plant. On SQLite the key is the table (sqlite.org/withoutrowid.html); PostgreSQL does not know the option. */
@Entity('plants', { withoutRowid: true })
export class Plant {
  @PrimaryColumn({ type: 'bigint', transformer: INT64 })
  id!: bigint;

  @Column({ type: 'text' })
  name!: string;

  @Column({ type: 'text', nullable: true })
  tag!: string | null;

  /** The id of the principal that created it; null if unknown. */
  @Column({ name: 'created_by', type: 'text', nullable: true })
  createdBy!: string | null;

  /** When its commit began: milliseconds since 1970. */
  @Column({ name: 'created_at', type: 'bigint', nullable: true, transformer: INT64 })
  createdAt!: bigint | null;
}

/** A plant before its commit begins. */
export type UncommittedPlant = Omit<Plant, 'createdAt'>;

/** The fields in which plants with the same content may differ: who created them, and when. */
export const AUDIT: readonly string[] = ['createdBy', 'createdAt'] satisfies (keyof Plant)[];

/** The fields of a plant's content but for the id. A new Plant has them all, as .swcrc sets useDefineForClassFields. */
export const CONTENT = Object.keys(new Plant()).filter(
  (field) => field !== 'id' && !AUDIT.includes(field),
) as readonly (keyof UncommittedPlant)[];
