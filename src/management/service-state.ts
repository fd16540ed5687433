import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { HealthIndicatorResult } from '@nestjs/terminus';
import { DataSource } from 'typeorm';
import { TokensService } from '../auth/tokens/tokens.service.js';
import { Config, VERSION } from '../config/config.js';
import { describeDatabase } from '../config/database-url.js';
import { StoreInspection } from '../database/inspection.js';
import { findLastBackup } from '../database/last-backup.entity.js';
import { describeError } from '../errors/operator-message.js';
import { Drain } from '../http/drain.js';
import { GroupCommit, MAX_QUEUED } from '../plants/group-commit.js';

/** What health and metrics ask the service, also before its application exists. */
@Injectable()
export class ServiceState {
  private app: INestApplicationContext | undefined;

  constructor(private readonly config: Config) {}

  /** The start calls it once the application of the service is created. */
  attach(app: INestApplicationContext): void {
    this.app = app;
  }

  async check(): Promise<HealthIndicatorResult> {
    const store = describeDatabase(this.config.databaseUrl);
    const phase = this.findPhase();
    const isFull = this.app?.get(GroupCommit).isFull;
    return {
      service: { version: VERSION, store, status: 'up' },
      lifecycle: { phase, status: phase === 'serving' ? 'up' : 'down' },
      store: await this.checkStore(),
      queue: {
        plants: this.queued,
        bound: MAX_QUEUED,
        ...(isFull ? { message: 'full', status: 'down' } : { status: 'up' }),
      },
    };
  }

  private findPhase(): 'starting' | 'serving' | 'stopping' {
    // Nest's server no longer listens at the end of a stop.
    if (this.app && this.app.get(Drain).phase !== 'serving') return 'stopping';
    return this.app?.get(HttpAdapterHost).listening ? 'serving' : 'starting';
  }

  /** The message of an error may name the store's host, which monitors may know. */
  private async checkStore(): Promise<HealthIndicatorResult[string]> {
    try {
      if (!this.app) throw new Error('not open yet');
      // The store may be closed already, which a probe would log as an outage.
      if (this.findPhase() === 'stopping') throw new Error('not checked: the service stops');
      await this.app.get(StoreInspection).assertAvailable();
      return { status: 'up' };
    } catch (error) {
      return { message: describeError(error), status: 'down' };
    }
  }

  get queued(): number {
    return this.app?.get(GroupCommit).queued ?? 0;
  }

  async isStoreUp(): Promise<boolean> {
    return (await this.checkStore()).status === 'up';
  }

  findTokenExpiry(): Promise<Date | undefined> {
    return this.lookUp(async (app) => (await app.get(TokensService).summarize()).nextExpiry);
  }

  findLastBackup(): Promise<Date | undefined> {
    return this.lookUp((app) => findLastBackup(app.get(DataSource).manager));
  }

  /** Returns undefined if the store is unavailable: the check says why. */
  private async lookUp(
    find: (app: INestApplicationContext) => Promise<Date | undefined>,
  ): Promise<Date | undefined> {
    if (!this.app || !(await this.isStoreUp())) return undefined;
    return find(this.app).catch(() => undefined);
  }
}
