import { stackOf } from '../errors/describe.js';

/** What Nest passes to a logger, as pino takes it. */
export interface NestLine {
  readonly msg: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
}

const STACK = /\n\s+at /;

/**
 * Reads the arguments that Nest's Logger passes on: a message, then a stack (of errors), objects, and
 * a context as the last one. An Error gives its message and its stack, not its other members, which
 * may hold the plants of a query. Objects behind the message add their members to the line, one in
 * its place is its `data`.
 */
export function nestLine(message: unknown, rest: readonly unknown[]): NestLine {
  const fields: Record<string, unknown> = {};
  const last = rest.at(-1);
  const context = typeof last === 'string' && !STACK.test(last) ? last : undefined;
  for (const one of context === undefined ? rest : rest.slice(0, -1)) {
    if (one instanceof Error) fields.stack = stackOf(one);
    else if (typeof one === 'string') fields.stack = one;
    else Object.assign(fields, one);
  }
  if (context !== undefined) fields.context = context;
  if (typeof message === 'string') return { msg: message, fields };
  if (message instanceof Error) {
    return { msg: message.message, fields: { stack: stackOf(message), ...fields } };
  }
  return { msg: undefined, fields: { data: message, ...fields } };
}
