import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config/config.js';
import { STORE_WRITER, type StoreWriter } from './engine.js';
import { lookPatience } from './patience.js';
import { StoreAwayError } from './store-away.js';
import { StoreState } from './store-state.js';
import { within } from './within.js';

/** Milliseconds that an outcome stands for: that of a request, or of a probe. */
const FRESH = 1_000;
/** The longest wait for a probe, in milliseconds: those who ask have little patience themselves. */
const LONGEST = 2_000;

/** Finds out whether the store takes writes, without a request and without a probe for each who asks. */
@Injectable()
export class StoreProbe implements OnApplicationShutdown {
  private readonly patience: number;
  private probe: Promise<void> | undefined;
  /** What the store is at, perhaps for longer than anyone waits: there is never a second one. */
  private underWay: Promise<void> | undefined;
  private closed = false;

  constructor(
    @Inject(STORE_WRITER) private readonly store: StoreWriter,
    private readonly state: StoreState,
    config: Config,
  ) {
    this.patience = Math.min(lookPatience(config), LONGEST);
  }

  /**
   * Resolves where the store takes writes. Those who ask within a second share one probe; where a
   * request has found the store away in that time, there is none.
   *
   * @throws the error that says why it does not
   */
  async check(): Promise<void> {
    if (this.closed) throw new StoreAwayError('closed');
    const { lastFailure } = this.state;
    if (lastFailure && performance.now() - lastFailure.at < FRESH) throw lastFailure.error;
    this.probe ??= this.run();
    await this.probe;
  }

  /** The store is closed next; a probe would open it anew. */
  onApplicationShutdown(): void {
    this.closed = true;
  }

  private async run(): Promise<void> {
    const again = (): void => {
      this.probe = undefined;
    };
    try {
      this.underWay ??= this.store.probe().finally(() => (this.underWay = undefined));
      await within(this.patience, this.underWay);
      this.state.markAvailable();
    } catch (error) {
      this.state.markUnavailable(error);
      throw error;
    } finally {
      setTimeout(again, FRESH).unref();
    }
  }
}
