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

  /** The id of the principal that created it; null where nobody knows any more. */
  @Column({ name: 'created_by', type: 'text', nullable: true })
  createdBy!: string | null;

  /** When it was committed: milliseconds since 1970, in decimal digits as the id is. */
  @Column({ name: 'created_at', type: 'bigint', nullable: true })
  createdAt!: string | null;
}

/** What makes two plants the same; who created one, and when, does not. */
export type PlantContent = Pick<Plant, 'id' | 'name' | 'tag'>;

export function hasSameContent(a: PlantContent | undefined, b: PlantContent): boolean {
  return a === b || (a?.name === b.name && a.tag === b.tag);
}

/** Characters of a plant's texts, which it holds in memory while it waits. */
export function countCharacters({ name, tag }: Plant): number {
  return name.length + (tag?.length ?? 0);
}
