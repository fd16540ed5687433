import { channel } from 'node:diagnostics_channel';

/** A token of the service's own was looked for in the cache: hit, or miss, for which the store is asked. */
export interface TokenLookupEvent {
  readonly result: 'hit' | 'miss';
}

/** Publishes each {@link TokenLookupEvent}. */
export const tokenLookups = channel<TokenLookupEvent>('plant-store.auth.lookup');
