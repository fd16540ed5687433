import { requestEnd, requestStart } from '../../src/http/request-context.js';

/** Counts the requests of this process that have no complete response, from the call on. */
export function countInFlight(): { readonly count: number } {
  const inFlight = { count: 0 };
  requestStart.subscribe(() => (inFlight.count += 1));
  requestEnd.subscribe(() => (inFlight.count -= 1));
  return inFlight;
}
