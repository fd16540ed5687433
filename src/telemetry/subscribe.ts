import type { Channel } from 'node:diagnostics_channel';
import type { Config } from '../config/config.js';

/**
 * Hands what one application publishes to a handler; channels are those of the process.
 *
 * @param config of the application
 * @returns a function that ends the subscription, for the application's end
 */
export function subscribe<Message extends { readonly config: Config }>(
  channel: Channel<Message>,
  config: Config,
  handle: (message: Message) => void,
): () => void {
  const listener = (message: unknown): void => {
    const published = message as Message;
    if (published.config === config) handle(published);
  };
  channel.subscribe(listener);
  return () => {
    channel.unsubscribe(listener);
  };
}
