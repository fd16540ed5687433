import { HttpException } from '@nestjs/common';
import { isStoreAway } from '../database/store-away.js';
import type { ErrorDto } from './error.dto.js';
import { ERRORS, type ErrorKind } from './errors.js';
import { Fault } from './fault.js';

/** A JSON answer as it goes on the wire; `headers` are those that not every answer carries. */
export interface Answer<Body extends object = object> {
  readonly status: number;
  readonly body: Body;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Turns whatever was thrown into an answer. Only a {@link Fault} speaks to the client in its own
 * words; the insides of every other error stay inside.
 */
export function toAnswer(fault: unknown): Answer<ErrorDto> {
  if (fault instanceof Fault) return answer(fault.kind, fault.message);
  if (fault instanceof HttpException) return answer(kindOfStatus(fault.getStatus()));
  if (isStoreAway(fault)) return answer(ERRORS.STORE_AWAY);
  return answer(ERRORS.INTERNAL);
}

function answer(kind: ErrorKind, message = kind.message): Answer<ErrorDto> {
  return { status: kind.status, body: { error: kind.error, message }, headers: kind.headers ?? {} };
}

/** Nest and Express throw by status; the table knows fewer statuses than HTTP. */
function kindOfStatus(status: number): ErrorKind {
  if (status === 404) return ERRORS.NO_SUCH_PATH;
  return status < 500 ? ERRORS.BAD_REQUEST : ERRORS.INTERNAL;
}
