import type { TokensService } from '../auth/tokens.service.js';

/**
 * Works on the tokens of the store. What needs the store is loaded here alone: it takes most of a
 * second, which help need not wait.
 */
export async function withTokens<Result>(
  work: (tokens: TokensService) => Promise<Result>,
): Promise<Result> {
  const { withStore } = await import('./store.js');
  const { TokensService } = await import('../auth/tokens.service.js');
  return withStore((app) => work(app.get(TokensService)));
}
