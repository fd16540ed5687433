import { Logger } from '@nestjs/common';
import { describeError } from '../../describe-error.js';

/** Whether the identity provider is within reach; its comings and goings are logged. */
export class ProviderState {
  private readonly logger = new Logger('Tokens');
  private awaySince: number | undefined;

  get isAway(): boolean {
    return this.awaySince !== undefined;
  }

  /** The provider could not be asked for its keys, or its answer was not to be used. */
  noteAway(error: unknown): void {
    if (this.awaySince !== undefined) return;
    this.awaySince = Date.now();
    this.logger.warn(`the identity provider is away: ${describeWithCause(error)}`);
  }

  /** The provider has just told its keys. */
  noteThere(): void {
    if (this.awaySince === undefined) return;
    const seconds = (Date.now() - this.awaySince) / 1_000;
    this.awaySince = undefined;
    this.logger.log(`the identity provider is back after ${seconds.toFixed(1)} s`);
  }
}

/** An error and its cause in words: fetch() says why it failed in the cause alone. */
function describeWithCause(error: unknown): string {
  const { cause } = Object(error) as Error;
  return cause === undefined
    ? describeError(error)
    : `${describeError(error)}: ${describeError(cause)}`;
}
