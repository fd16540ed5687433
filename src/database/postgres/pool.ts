import { Pool, type PoolClient, type PoolConfig, type QueryResult } from 'pg';
import type { EntityManager } from 'typeorm';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { readCode } from '../../errors/operator-message.js';
import { StoreProblem, toStoreUnavailable } from '../store-errors.js';
import { SessionClient } from './client.js';
import type { PostgresInspector } from './inspector.js';
import { Session } from './session.js';

/** 8 for groups in flight, lookups of tokens and the like, 2 to replace those that hang. */
const MAX_SESSIONS = 10;
/** How long a session may hang while others work, in timeouts of a statement: its connection may be dead. */
const MAX_HANG_IN_TIMEOUTS = 10;
/** too_many_connections (postgresql.org/docs/current/errcodes-appendix.html). */
const TOO_MANY = '53300';
const TOO_MANY_RETRY_MS = 50;

type Lend = (error?: Error, session?: Session, release?: Session['release']) => void;

export interface CheckedPoolConfig {
  readonly statementTimeoutMs: number | undefined;
  readonly keepAlive: boolean;
  readonly inspector: PostgresInspector;
}

/** The pool, with what TypeORM uses of it. */
export class CheckedPool {
  /** Sessions whose cancelled statement the server has not ended, and since when. */
  readonly hanging = new Map<Session, number>();
  /** How long a statement may take; forever if left out. */
  readonly timeoutMs: number | undefined;
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

  /**
   * Fails at once if all sessions hang. Without one the database is unavailable, whatever the reason. If the role or the server
   * may have no more, waits for half a timeout: one of ours may become idle.
   */
  connect(lend: Lend, until = performance.now() + (this.timeoutMs ?? 0) / 2): void {
    if (this.hanging.size >= MAX_SESSIONS) {
      const reason = 'no session available: the server has not closed the old ones';
      lend(new StoreUnavailableException(reason));
      return;
    }
    this.pool.connect((error, client, release: (close: boolean) => void) => {
      if (client) {
        const session = this.sessions.get(client) ?? new Session(client, this);
        this.sessions.set(client, session);
        session.returnToPool = release;
        this.admit(session, lend, until);
      } else if (readCode(error) === TOO_MANY && performance.now() < until)
        setTimeout(() => this.connect(lend, until), TOO_MANY_RETRY_MS);
      else lend(toStoreUnavailable(error));
    });
  }

  /**
   * Lends a session. While a service runs, a new one is inspected first, as settings of a role show only after a login, and
   * one from before the latest problem is replaced.
   */
  private admit(session: Session, lend: Lend, until: number): void {
    const { generation, isServing } = this.inspector;
    if (!isServing || session.inspected === generation) lend(undefined, session, session.release);
    else if (session.inspected === undefined)
      this.inspect(session).then(
        () => lend(undefined, session, session.release),
        (error: unknown) => {
          session.close();
          lend(error as Error);
        },
      );
    else {
      session.close();
      this.connect(lend, until);
    }
  }

  /** @throws StoreProblem; the database's error */
  private async inspect(session: Session): Promise<void> {
    const query = async (sql: string, values?: unknown[]): Promise<unknown> =>
      ((await session.query(sql, values)) as QueryResult).rows;
    const { generation } = this.inspector;
    const [problem] = await this.inspector.find({ query } as Pick<EntityManager, 'query'>);
    if (problem) throw new StoreProblem(problem);
    session.inspected = generation;
  }

  /** Closes sessions that hang for long: the server responds in another one. */
  closeLongHanging(): void {
    const longest = MAX_HANG_IN_TIMEOUTS * (this.timeoutMs ?? Infinity);
    for (const [session, since] of this.hanging)
      if (performance.now() - since > longest) session.close();
  }

  /** Closes the sessions that hang, too: the server has been asked to cancel their statements. */
  end(ended: () => void): void {
    for (const session of this.hanging.keys()) session.close();
    this.pool.end(ended);
  }
}
