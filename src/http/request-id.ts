import { randomUUID } from 'node:crypto';
import { redact } from './redact.js';

/** What a client may name its request: nothing that could pass for more than a word in a log. */
const SANE = /^[\w.:@/+=-]{1,128}$/;

/** The request's id: that of its `X-Request-Id` where it is sane, else a new one. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && isSane(header) ? header : randomUUID();
}

/** A token that was taken for an id would go to the collector of traces, and back in the answer. */
function isSane(id: string): boolean {
  return SANE.test(id) && redact(id) === id;
}
