import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Token } from './token.entity.js';

/** Milliseconds between two writes of the times of last use. */
const INTERVAL = 10_000;

/** Keeps when each token was last used; the store learns it in the background, never on a request. */
@Injectable()
export class LastUsed implements OnApplicationShutdown {
  private readonly logger = new Logger('Tokens');
  private used = new Map<number, Date>();
  private timer: NodeJS.Timeout | undefined;

  constructor(@InjectRepository(Token) private readonly tokens: Repository<Token>) {}

  /** Notes that a token is used now. */
  touch(id: number): void {
    if (this.used.has(id)) return;
    this.used.set(id, new Date());
    this.timer ??= setTimeout(() => void this.write(), INTERVAL).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.timer);
    await this.write();
  }

  private async write(): Promise<void> {
    const used = this.used;
    this.used = new Map();
    this.timer = undefined;
    try {
      for (const [id, lastUsedAt] of used) await this.tokens.update({ id }, { lastUsedAt });
    } catch (error) {
      // A time of last use is worth a line in the log, not a request.
      this.logger.warn(`times of last use were not written: ${String(error)}`);
    }
  }
}
