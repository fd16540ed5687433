import { channel } from 'node:diagnostics_channel';
import type { Config } from '../config/config.js';

/** A token of the service's own was looked for in the cache: hit, or miss, for which the store is asked. */
export interface TokenLookupEvent {
  /** Of the application that it is of: channels are those of the process. */
  readonly config: Config;
  readonly result: 'hit' | 'miss';
}

/** Publishes each {@link TokenLookupEvent}. */
export const tokenLookups = channel<TokenLookupEvent>('plant-store.auth.lookup');
