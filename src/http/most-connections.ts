/** Bytes that the bodies of all connections may take together, each on its way and as long as it may be. */
const BODIES = 256 * 2 ** 20;
/** As few as this are not enough for anyone, however long the bodies may be. */
const LEAST = 1_024;
/** Each costs some 10 KB by itself. */
const MOST = 10_000;

/**
 * How many connections there may be at once, so that memory is bounded: 4,096 with bodies of up to
 * 64 KiB. A client needs a token for its body to be read, but the token of one will do for all.
 *
 * @param bodyLimit the longest body, in bytes
 */
export function mostConnections(bodyLimit: number): number {
  return Math.max(LEAST, Math.min(MOST, Math.floor(BODIES / bodyLimit)));
}
