/**
 * The sessions with the server, each a login that the server has a process for. It has what TypeORM calls of pg's own pool.
 *
 * 1. TypeORM borrows a session for each statement or transaction. A statement that takes too long fails, but the server may
 *    work on: until it responds, the session hangs, and is lent to nobody (session.ts).
 * 2. Such a session adds itself to `hanging`, and asks the server to cancel the statement (session.ts). Hanging sessions count among the ten of the pool: if
 *    a new login replaced each, a slow server, which works on in the old ones, would soon have no connections left, for anybody.
 *    While all ten hang, a request fails at once. When the server responds in any session, those that hang for long are
 *    closed, as their connections may be dead. If all ten hang for long, none is left in which it could respond: a request
 *    closes the oldest, and tries a new login.
 * 3. While a service runs, and not a command, a new session is inspected before it is lent, as the settings of a role show only
 *    after a login. The inspector counts its findings, by the number `generation`: a session from before the latest one may
 *    have the settings that were the problem, and is replaced by a new login.
 * 4. If the server, or the role, may have no more sessions, a request waits for half of a statement's timeout: one of ours may
 *    become idle.
 */
import { Pool, type PoolClient, type PoolConfig, type QueryResult } from 'pg';
import type { EntityManager } from 'typeorm';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { readCode } from '../../errors/operator-message.js';
import { StoreProblem, toStoreUnavailable } from '../store-errors.js';
import { SessionClient } from './client.js';
import type { PostgresInspector } from './inspector.js';
import { MAX_HANG_IN_TIMEOUTS, Session } from './session.js';

/** Groups of plants that are being committed, lookups of tokens and the like need 8; 2 more replace sessions that hang. */
const MAX_SESSIONS = 10;
/** The code too_many_connections (postgresql.org/docs/current/errcodes-appendix.html). */
const TOO_MANY = '53300';
const TOO_MANY_RETRY_MS = 50;

type Lend = (error?: Error, session?: Session, release?: Session['release']) => void;

export interface CheckedPoolConfig {
  readonly statementTimeoutMs: number | undefined;
  readonly inspector: PostgresInspector;
}

export class CheckedPool {
  private readonly hanging = new Map<Session, number>();
  private readonly timeoutMs: number | undefined;
  private readonly pool: Pool;
  private readonly sessions = new WeakMap<PoolClient, Session>();
  private readonly inspector: PostgresInspector;

  constructor({ inspector, ...config }: PoolConfig & CheckedPoolConfig) {
    this.pool = new Pool({ ...config, max: MAX_SESSIONS, Client: SessionClient });
    this.inspector = inspector;
    this.timeoutMs = config.statementTimeoutMs;
  }

  on(event: 'error', listener: (error: Error) => void): void {
    this.pool.on(event, listener);
  }

  /** Lends a session, or a StoreUnavailableException: without a session the database is unavailable, whatever the reason. */
  connect(lend: Lend, until = performance.now() + (this.timeoutMs ?? 0) / 2): void {
    if (this.hanging.size >= MAX_SESSIONS) this.closeOldest();
    if (this.hanging.size >= MAX_SESSIONS) {
      const reason = 'no session available: the server has not closed the old ones';
      lend(new StoreUnavailableException(reason));
      return;
    }
    this.pool.connect((error, client, release: (close: boolean) => void) => {
      if (client) {
        const session =
          this.sessions.get(client) ?? new Session(client, this.timeoutMs, this.hanging);
        this.sessions.set(client, session);
        session.returnToPool = release;
        this.admit(session, lend, until);
      } else if (readCode(error) === TOO_MANY && performance.now() < until)
        setTimeout(() => this.connect(lend, until), TOO_MANY_RETRY_MS);
      else lend(toStoreUnavailable(error));
    });
  }

  /** Closes one at a time: if the server is only slow, the new session soon hangs as well, and is the latest. */
  private closeOldest(): void {
    const hungMs = performance.now() - Math.max(...this.hanging.values());
    const [oldest] = this.hanging.keys();
    if (hungMs > MAX_HANG_IN_TIMEOUTS * (this.timeoutMs ?? Infinity)) oldest?.close();
  }

  private admit(session: Session, lend: Lend, until: number): void {
    const { generation, isServing } = this.inspector;
    const succeed = () => lend(undefined, session, session.release);
    if (!isServing || session.inspected === generation) succeed();
    else if (session.inspected === undefined)
      this.inspect(session).then(succeed, (error: unknown) => {
        session.close();
        lend(error as Error);
      });
    else {
      session.close();
      this.connect(lend, until);
    }
  }

  /** Reads the generation first: a problem that is found meanwhile makes this session an old one. @throws StoreProblem; the database's error */
  private async inspect(session: Session): Promise<void> {
    const query = async (sql: string, values?: unknown[]): Promise<unknown> =>
      ((await session.query(sql, values)) as QueryResult).rows;
    const { generation } = this.inspector;
    const [problem] = await this.inspector.find({ query } as Pick<EntityManager, 'query'>);
    if (problem) throw new StoreProblem(problem);
    session.inspected = generation;
  }

  /** Closes the sessions that hang as well: the server was asked to cancel their statements. */
  end(ended: () => void): void {
    for (const session of this.hanging.keys()) session.close();
    this.pool.end(ended);
  }
}
