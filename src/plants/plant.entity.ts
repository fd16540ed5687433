import {
  Column,
  Entity,
  getMetadataArgsStorage,
  PrimaryColumn,
  type ValueTransformer,
} from 'typeorm';

/** Integers are decimal strings: a double does not represent every int64. Drivers read numbers, bigints or strings. */
const DECIMAL: ValueTransformer = {
  to: (decimal: string | null) => decimal,
  from: (value: number | bigint | string | null) => (value === null ? null : String(value)),
};
const INTEGER = { type: 'bigint', transformer: DECIMAL } as const;

/**
 * A stored plant; a column of content is named as its field. SQLite keeps the table in the order of its key, without a
 * hidden second one (`WITHOUT ROWID`, sqlite.org/withoutrowid.html); PostgreSQL does not know the option.
 */
@Entity('plants', { withoutRowid: true })
export class Plant {
  @PrimaryColumn(INTEGER)
  id!: string;

  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  tag!: string | null;

  /** The id of the principal that created it; null if unknown. */
  @Column({ name: 'created_by', type: 'text', nullable: true })
  createdBy!: string | null;

  /** When its commit began: milliseconds since 1970. */
  @Column({ name: 'created_at', ...INTEGER, nullable: true })
  createdAt!: string | null;
}

/** The fields in which plants with the same content may differ: who created them, and when. */
type AuditField = 'createdBy' | 'createdAt';
const AUDIT: readonly string[] = ['createdBy', 'createdAt'] satisfies AuditField[];

export type PlantContent = Omit<Plant, AuditField>;

/** The columns of `plants`, in their order: SQL, comparison, export, backup and restore derive from them. */
export const COLUMNS = getMetadataArgsStorage()
  .filterColumns(Plant)
  .map(({ propertyName, options: { name = propertyName, type } }) => ({
    field: propertyName as keyof Plant,
    name,
    type: type as 'bigint' | 'text',
    isAudit: AUDIT.includes(propertyName),
  }));

/** The fields of a plant's content but for the id. */
export const CONTENT = COLUMNS.filter(({ field, isAudit }) => field !== 'id' && !isAudit).map(
  ({ field }) => field as Exclude<keyof PlantContent, 'id'>,
);

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
