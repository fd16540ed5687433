import { Column, Entity, PrimaryColumn, type ValueTransformer } from 'typeorm';

/** An integer is a decimal string in code: a double does not represent every int64. The drivers read numbers, bigints or strings. */
const DECIMAL: ValueTransformer = {
  to: (decimal: string | null) => decimal,
  from: (value: number | bigint | string | null) => (value === null ? null : String(value)),
};
const INTEGER = { type: 'bigint', transformer: DECIMAL } as const;
const TEXT = { type: 'text' } as const;

interface PlantColumn {
  readonly name: string;
  readonly type: 'bigint' | 'text';
  readonly transformer?: ValueTransformer;
  readonly nullable?: boolean;
  /** Whether it says who created the plant, or when. Plants with the same content may differ in it. */
  readonly isAudit?: boolean;
}

/**
 * The columns of `plants`, in their order, by field; a column of content is named as its field. The statements, the
 * comparison of plants, `export`, `backup` and `restore` are made from this list.
 */
export const COLUMNS: Readonly<Record<keyof Plant, PlantColumn>> = {
  id: { name: 'id', ...INTEGER },
  name: { name: 'name', ...TEXT },
  tag: { name: 'tag', ...TEXT, nullable: true },
  createdBy: { name: 'created_by', ...TEXT, nullable: true, isAudit: true },
  createdAt: { name: 'created_at', ...INTEGER, nullable: true, isAudit: true },
};

/**
 * A stored plant. SQLite keeps the table in the order of its key, without a hidden second one
 * (`WITHOUT ROWID`, sqlite.org/withoutrowid.html); PostgreSQL does not know the option.
 */
@Entity('plants', { withoutRowid: true })
export class Plant {
  @PrimaryColumn(INTEGER)
  id!: string;

  @Column(COLUMNS.name)
  name!: string;

  @Column(COLUMNS.tag)
  tag!: string | null;

  /** The id of the principal that created it; null if unknown. */
  @Column(COLUMNS.createdBy)
  createdBy!: string | null;

  /** When its commit began: milliseconds since 1970. */
  @Column(COLUMNS.createdAt)
  createdAt!: string | null;
}

/** The fields that plants with the same content share: all but who created them, and when. */
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

/** Counts the characters of a plant's content, which is in memory while the plant waits. */
export function countCharacters(plant: PlantContent): number {
  let count = 0;
  for (const field of CONTENT) count += plant[field]?.length ?? 0;
  return count;
}
