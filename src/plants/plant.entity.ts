import { Column, Entity, PrimaryColumn, type ColumnOptions } from 'typeorm';
import { INT64, type ColumnType } from '../database/column-types.js';

const TEXT = { type: 'text' } as const;
const INTEGER = { type: 'bigint', transformer: INT64 } as const;

type PlantColumn = ColumnOptions & { readonly type: ColumnType };

/** The columns of `plants`, in their order. A column of content is named as its field. */
const OPTIONS = {
  id: INTEGER,
  name: TEXT,
  tag: { ...TEXT, nullable: true },
  createdBy: { ...TEXT, name: 'created_by', nullable: true },
  createdAt: { ...INTEGER, name: 'created_at', nullable: true },
} satisfies Record<keyof Plant, PlantColumn>;

/** The fields in which plants with the same content may differ: who created them, and when. */
const AUDIT: readonly string[] = ['createdBy', 'createdAt'] satisfies (keyof Plant)[];

/** A stored plant. On SQLite the key is the table (sqlite.org/withoutrowid.html); PostgreSQL does not know the option. */
@Entity('plants', { withoutRowid: true })
export class Plant {
  @PrimaryColumn(OPTIONS.id)
  id!: bigint;

  @Column(OPTIONS.name)
  name!: string;

  @Column(OPTIONS.tag)
  tag!: string | null;

  /** The id of the principal that created it; null if unknown. */
  @Column(OPTIONS.createdBy)
  createdBy!: string | null;

  /** When its commit began: milliseconds since 1970. */
  @Column(OPTIONS.createdAt)
  createdAt!: bigint | null;
}

/** SQL, export, backup and restore derive from them. */
export const COLUMNS = (Object.keys(OPTIONS) as (keyof Plant)[]).map((field) => {
  const { type, name = field }: PlantColumn = OPTIONS[field];
  return { field, name, type, isAudit: AUDIT.includes(field) };
});

/** The fields of a plant's content but for the id. */
export const CONTENT = COLUMNS.filter(({ field, isAudit }) => field !== 'id' && !isAudit).map(
  ({ field }) => field,
);
