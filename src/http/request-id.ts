import { randomUUID } from 'node:crypto';

/** What a client may name its request: nothing that could pass for more than a word in a log. */
const SANE = /^[\w.:@/+=-]{1,128}$/;

/** The request's id: that of its `X-Request-Id` where it is sane, else a new UUID. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && SANE.test(header) ? header : randomUUID();
}
