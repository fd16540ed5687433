import { Column, Entity, PrimaryGeneratedColumn, type ValueTransformer } from 'typeorm';

/** Milliseconds since 1970 in the store, which mean the same on every engine and in every zone. */
const TIME: ValueTransformer = {
  to: (date: Date | null) => date?.getTime() ?? null,
  from: (ms: number | string | null) => (ms === null ? null : new Date(Number(ms))),
};

/** A bearer token, known by the hash of its secret alone. */
@Entity('tokens')
export class Token {
  @PrimaryGeneratedColumn({ type: 'integer' })
  id!: number;

  /** Who has it, in the operator's words. No second active one is issued, but by a rotation. */
  @Column({ type: 'text' })
  name!: string;

  /** SHA-256 of the whole secret, 64 hexadecimal digits. */
  @Column({ type: 'text', unique: true })
  hash!: string;

  @Column({ name: 'created_at', type: 'bigint', transformer: TIME })
  createdAt!: Date;

  @Column({ name: 'expires_at', type: 'bigint', nullable: true, transformer: TIME })
  expiresAt!: Date | null;

  @Column({ name: 'revoked_at', type: 'bigint', nullable: true, transformer: TIME })
  revokedAt!: Date | null;

  @Column({ name: 'last_used_at', type: 'bigint', nullable: true, transformer: TIME })
  lastUsedAt!: Date | null;
}

/** Whether one end comes before another; null is no end. */
export function isBefore(end: Date | null, other: Date | null): boolean {
  return end !== null && (other === null || end.getTime() < other.getTime());
}

/** Whether a token may be used now: neither revoked nor expired. */
export function isActive({ revokedAt, expiresAt }: Token, now = Date.now()): boolean {
  return revokedAt === null && (expiresAt === null || now < expiresAt.getTime());
}
