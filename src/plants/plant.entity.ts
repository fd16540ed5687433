import { Column, Entity, PrimaryColumn } from 'typeorm';

interface PlantColumn {
  readonly name: string;
  readonly type: 'bigint' | 'text';
  readonly nullable?: boolean;
  /** Whether it tells who created the plant, or when. Two plants may differ in it and have the same content. */
  readonly isAudit?: boolean;
}

/**
 * The columns of `plants`, in their order, by field; a column of content is named as its field. The statements, the
 * comparison of plants, `export`, `backup` and `restore` are made from this list.
 */
export const COLUMNS: Readonly<Record<keyof Plant, PlantColumn>> = {
  /** int64 in decimal digits: no driver has a number that holds it. */
  id: { name: 'id', type: 'bigint' },
  name: { name: 'name', type: 'text' },
  tag: { name: 'tag', type: 'text', nullable: true },
  createdBy: { name: 'created_by', type: 'text', nullable: true, isAudit: true },
  createdAt: { name: 'created_at', type: 'bigint', nullable: true, isAudit: true },
};

/**
 * A stored plant. SQLite keeps the table in the order of its key, without a hidden second one
 * (`WITHOUT ROWID`, sqlite.org/withoutrowid.html); PostgreSQL does not know the option.
 */
@Entity('plants', { withoutRowid: true })
export class Plant {
  @PrimaryColumn(COLUMNS.id.type)
  id!: string;

  @Column(COLUMNS.name)
  name!: string;

  @Column(COLUMNS.tag)
  tag!: string | null;

  /** The id of the principal that created it; null if unknown. */
  @Column(COLUMNS.createdBy)
  createdBy!: string | null;

  /** When its commit began: milliseconds since 1970, in decimal digits as the id is. */
  @Column(COLUMNS.createdAt)
  createdAt!: string | null;
}

/** The fields by which two plants are the same: all but who created them, and when. */
export type PlantContent = Omit<Plant, 'createdBy' | 'createdAt'>;

/** The fields of a plant, in the order of its columns. */
export const FIELDS = Object.keys(COLUMNS) as (keyof Plant)[];

/** The fields of a plant's content but for the id. */
export const CONTENT = FIELDS.filter(
  (field) => field !== 'id' && !COLUMNS[field].isAudit,
) as Exclude<keyof PlantContent, 'id'>[];

/** @param a the plant that is stored under the id of `b` */
export function hasSameContent(a: PlantContent | undefined, b: PlantContent): boolean {
  return a === b || (a !== undefined && CONTENT.every((field) => a[field] === b[field]));
}

/** Characters of a plant's content, which it holds in memory while it waits. */
export function countCharacters(plant: PlantContent): number {
  let count = 0;
  for (const field of CONTENT) count += plant[field]?.length ?? 0;
  return count;
}
