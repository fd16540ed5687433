import {
  Column,
  Entity,
  IsNull,
  MoreThan,
  Or,
  PrimaryGeneratedColumn,
  type FindOptionsWhere,
} from 'typeorm';
import { TIME } from '../../database/column-types.js';

/** Operators are warned of a token that expires within this time; so does deploy/prometheus/alerts.yaml. */
const EXPIRES_SOON_MS = 14 * 24 * 60 * 60 * 1_000;

/** A bearer token. Only the hash of its secret is stored. */
@Entity('tokens')
export class Token {
  @PrimaryGeneratedColumn({ type: 'integer' })
  id!: number;

  /** The operator's name for its principal. Only a rotation creates a second active token of a name. */
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

/** When a token expires, in milliseconds since 1970; Infinity if never. */
export function getExpiry({ expiresAt }: Token): number {
  return expiresAt?.getTime() ?? Infinity;
}

/** Whether a token may be used now: neither revoked nor expired. */
export function isActive(token: Token, now = Date.now()): boolean {
  return token.revokedAt === null && now < getExpiry(token);
}

/** As {@link isActive}, for a query. */
export function whereActive(now: number): FindOptionsWhere<Token> {
  return { revokedAt: IsNull(), expiresAt: Or(IsNull(), MoreThan(new Date(now))) };
}

/** The active tokens that have no successor: one of the same name that lasts longer. */
export function listLast(tokens: readonly Token[], now = Date.now()): Token[] {
  const active = tokens.filter((token) => isActive(token, now));
  const ends = new Map<string, number>();
  for (const token of active)
    ends.set(token.name, Math.max(getExpiry(token), ends.get(token.name) ?? 0));
  return active.filter((token) => getExpiry(token) === ends.get(token.name));
}

/** The active tokens that expire soon and have no successor. */
export function listExpiring(tokens: readonly Token[], now = Date.now()): Token[] {
  return listLast(tokens, now).filter((token) => expiresSoon(token, now));
}

export function expiresSoon(token: Token, now = Date.now()): boolean {
  return getExpiry(token) < now + EXPIRES_SOON_MS;
}
