import { Logger } from '@nestjs/common';
import { errors, type JWTVerifyGetKey, type LocalJWKSet } from 'jose';
import { ERRORS, Fault } from '../../errors/errors.js';
import { Outage } from '../../errors/outage.js';

/** When the provider is asked for its keys, in milliseconds. */
const RHYTHM = {
  /** From a good answer to the next question: a removed key is believed so long. */
  refresh: 300_000,
  /** Between two questions at the least, whatever tokens come. */
  pause: 10_000,
  /** The same while no key is known. */
  retry: 1_000,
};

/**
 * The keys that tokens are signed with, asked for again and again in the background. Those that are
 * known go on working while the provider is away. Not jose's createRemoteJWKSet(): its old keys stop
 * where new ones cannot be had, and after a question that failed it asks again at every token.
 */
export class SigningKeys {
  private readonly outage = new Outage(new Logger('Tokens'), 'the identity provider');
  private known: LocalJWKSet | undefined;
  private asking: Promise<void> | undefined;
  private asked = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  /** @param fetchKeys asks the provider */
  constructor(
    private readonly fetchKeys: () => Promise<LocalJWKSet>,
    private readonly rhythm = RHYTHM,
  ) {}

  /** What is known: another object as soon as the provider has other keys. */
  get current(): object | undefined {
    return this.known;
  }

  /**
   * The key of a token. One that is not known may be new, so the provider is asked.
   *
   * @throws Fault IDENTITY_PROVIDER_UNAVAILABLE where no key at all is known; jose's errors
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (!this.known) await this.ask();
    if (!this.known) throw new Fault(ERRORS.IDENTITY_PROVIDER_UNAVAILABLE);
    try {
      return await this.known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.ask();
      return this.known(header, token);
    }
  };

  /**
   * Asks the provider, if it was not asked just now; those who wait share the answer. Nobody waits
   * for one that was away the last time: strangers' requests must not pile up behind it.
   */
  async ask(): Promise<void> {
    const pause = this.known ? this.rhythm.pause : this.rhythm.retry;
    const isDue = performance.now() >= this.asked + pause;
    if (isDue && !this.isStopped) this.asking ??= this.refresh();
    if (!this.outage.isOn) await this.asking;
  }

  /** Asks no more. */
  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  private async refresh(): Promise<void> {
    clearTimeout(this.timer);
    const isThere = await this.learn();
    this.asked = performance.now();
    this.asking = undefined;
    if (this.isStopped) return;
    const wait = isThere ? this.rhythm.refresh : this.rhythm.pause;
    this.timer = setTimeout(() => void (this.asking = this.refresh()), wait).unref();
  }

  private async learn(): Promise<boolean> {
    try {
      const keys = await this.fetchKeys();
      const isSame = JSON.stringify(keys.jwks()) === JSON.stringify(this.known?.jwks());
      if (!isSame) this.known = keys;
      this.outage.end();
      return true;
    } catch (error) {
      if (!this.isStopped) this.outage.begin(error);
      return false;
    }
  }
}
