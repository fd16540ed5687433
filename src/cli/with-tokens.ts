import { Token } from '../auth/token.entity.js';
import { TokensService } from '../auth/tokens.service.js';
import type { Config } from '../config/config.js';
import { openStore } from '../database/open-store.js';

/**
 * Works on the tokens of a store, without Nest: its container takes longer to load than all else.
 *
 * @throws StoreUnusableError, TokenError
 */
export async function withTokens<Result>(
  config: Config,
  work: (tokens: TokensService) => Promise<Result>,
): Promise<Result> {
  const store = await openStore(config, [Token], 'change');
  try {
    return await work(new TokensService(store.getRepository(Token)));
  } finally {
    await store.destroy();
  }
}
