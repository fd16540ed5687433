/**
 * Limits how often a line is logged that clients or an outage could cause without end.
 *
 * @param intervalMs least time between two lines, in milliseconds
 * @returns a function that tells whether a line is due
 */
export function createThrottle(intervalMs = 10_000): () => boolean {
  let lastAt = -Infinity;
  return () => {
    const now = performance.now();
    if (now - lastAt < intervalMs) return false;
    lastAt = now;
    return true;
  };
}
