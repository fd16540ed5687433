import type { HttpAnswer } from './post.js';

/** What the service said of a plant: it is stored, it is refused, or it may be tried again. */
export type Outcome =
  | { readonly kind: 'stored' }
  | ({ readonly kind: 'refused' } & Refusal)
  | { readonly kind: 'again'; readonly reason: string; readonly wait: number };

/** Milliseconds that a Retry-After can ask for at the most; timers of weeks would fire at once. */
const LONGEST_WAIT = 600_000;

/** The Error body of a 400 (interface, "Error"). */
export interface Refusal {
  readonly error: number;
  readonly message: string;
}

/**
 * Reads an answer of `POST /plants`. 200 and 400 are the interface's own; 429 and every 5xx pass,
 * with time; any other status would be that of every further plant as well.
 *
 * @throws Error where it makes no sense to go on
 */
export function outcomeOf({ status, headers, body }: HttpAnswer): Outcome {
  const content = objectOf(body);
  if (status === 200 && typeof content.name === 'string') return { kind: 'stored' };
  const { error, message } = content;
  const isError = typeof error === 'number' && typeof message === 'string';
  if (status === 400 && isError) return { kind: 'refused', error, message };
  const reason = isError ? `${status}, error ${error}: ${message}` : `${status}`;
  if (status === 429 || status >= 500) {
    return { kind: 'again', reason, wait: millisecondsOf(headers['retry-after']) };
  }
  if (isError) throw new Error(`the service answered ${reason}`);
  throw new Error(`the answer, of status ${status}, is not one of a plant store`);
}

function objectOf(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Milliseconds of both forms of Retry-After, seconds and a date (RFC 9110, section 10.2.3). */
function millisecondsOf(retryAfter = ''): number {
  const wait = /^\d+$/.test(retryAfter)
    ? Number(retryAfter) * 1_000
    : Date.parse(retryAfter) - Date.now();
  return wait > 0 ? Math.min(wait, LONGEST_WAIT) : 0;
}
