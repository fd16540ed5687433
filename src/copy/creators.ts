import type { Plant } from '../plants/plant.entity.js';
import { copyTokens } from './copy-tokens.js';
import type { Stores } from './stores.js';
import { readPairs } from './token-pairs.js';

/** What the id of a principal starts with that is a token. */
const TOKEN = 'token:';

/** The creators of plants, as the target names them: a token has an id of the target's own there. */
export class Creators {
  /** By the source's ids of the principals; null where the source has no such token. */
  private readonly tokens = new Map<string, string | null>();

  constructor(private readonly stores: Stores) {}

  /**
   * Plants of the source as the target is to hold them. A token that came to the source since its tokens
   * were copied is copied first; a creator that no token is any more becomes null, not somebody else.
   */
  async translate(plants: readonly Plant[]): Promise<Plant[]> {
    const unknown = plants.map(({ createdBy }) => createdBy).filter((id) => this.isUnknown(id));
    if (unknown.length > 0) await this.learn(unknown);
    return plants.map(({ createdBy, ...plant }) => ({
      ...plant,
      createdBy: this.nameOf(createdBy),
    }));
  }

  private isUnknown(id: string | null): id is string {
    return id?.startsWith(TOKEN) === true && !this.tokens.has(id);
  }

  private nameOf(id: string | null): string | null {
    return id?.startsWith(TOKEN) ? (this.tokens.get(id) ?? null) : id;
  }

  private async learn(ids: readonly string[]): Promise<void> {
    await copyTokens(this.stores);
    for (const id of ids) this.tokens.set(id, null);
    for await (const pairs of readPairs(this.stores)) {
      for (const { token, same } of pairs) {
        if (same) this.tokens.set(`${TOKEN}${token.id}`, `${TOKEN}${same.id}`);
      }
    }
  }
}
