import { Injectable, Logger } from '@nestjs/common';
import { describeError } from './describe-error.js';

/** Whether the store is there, as the last requests found it; its comings and goings are logged. */
@Injectable()
export class StoreState {
  private readonly logger = new Logger('Store');
  private awaySince: number | undefined;

  /** A request failed because the store is away. */
  noteAway(error: unknown): void {
    if (this.awaySince !== undefined) return;
    this.awaySince = Date.now();
    this.logger.error(`the store is away: ${describeError(error)}`);
  }

  /** The store has just taken plants. */
  noteThere(): void {
    if (this.awaySince === undefined) return;
    const seconds = (Date.now() - this.awaySince) / 1_000;
    this.awaySince = undefined;
    this.logger.log(`the store is back after ${seconds.toFixed(1)} s`);
  }
}
