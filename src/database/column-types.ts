import type { ValueTransformer } from 'typeorm';

/** The SQL types of columns that every engine keeps exactly, and that a backup can carry. */
export type ColumnType = 'text' | 'bigint' | 'integer' | 'boolean';

/** A column of a table, for SQL that is made from it. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

/** For a column of type `bigint` that is a bigint in entities: drivers give it as text, or as a number if that is exact. */
export const INT64: ValueTransformer = {
  to: (value: unknown) => value,
  from: (value: string | number | bigint | null) => (value === null ? null : BigInt(value)),
};

/** For a column of type `bigint` that is a Date in entities: milliseconds since 1970, the same on every engine and in every zone. */
export const TIME: ValueTransformer = {
  to: (date: Date | null) => date?.getTime() ?? null,
  from: (ms: number | string | null) => (ms === null ? null : new Date(Number(ms))),
};
