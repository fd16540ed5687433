import { type TokensService } from './tokens.service.js';

const NAME = 'first';

/** Makes a token in a store that never had one, and returns its secret; undefined in any other. */
export async function createFirstToken(tokens: TokensService): Promise<string | undefined> {
  const all = await tokens.list();
  return all.length === 0 ? tokens.create(NAME) : undefined;
}
