import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import { toAnswer } from '../errors/answer.js';
import { ERRORS } from '../errors/errors.js';
import { Fault } from '../errors/fault.js';
import { answerDueOn } from './connection.js';
import { JSON_HEADERS, tlsHeadersOf } from './json-headers.js';
import { newRequestId } from './request-id.js';

/** Milliseconds that a client has to read the answer and to close its side of the connection. */
const LINGER = 1_000;

/**
 * Ends a connection whose next bytes are no HTTP. A whole request before them may be on its way into
 * the store, and a 400 would say that it is not: it gets its own answer first.
 */
export function breakOff(socket: Duplex, why?: string): void {
  const due = answerDueOn(socket);
  if (!due) {
    refuse(socket, why);
    return;
  }
  if (!due.headersSent) due.setHeader('connection', 'close');
  due.once('close', () => socket.destroy());
}

/**
 * Answers on a socket whose bytes are no HTTP that Node could make a request of.
 *
 * @param why Node's code for it; the bytes themselves are not for the log
 */
export function refuse(socket: Duplex, why = 'unknown'): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { body } = toAnswer(new Fault(ERRORS.BAD_REQUEST));
  const text = JSON.stringify(body);
  const requestId = newRequestId();
  const own = ['x-request-id', requestId, 'content-length', `${text.length}`];
  const headers = [...JSON_HEADERS, ...tlsHeadersOf(socket), ...own, 'connection', 'close'];
  const lines = headers.flatMap((name, i) =>
    i % 2 === 0 ? [`${name}: ${headers[i + 1]}\r\n`] : [],
  );
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${text}`);
  // A client that never closes its side would keep the connection for ever.
  setTimeout(() => socket.destroy(), LINGER).unref();
  // A stranger needs no token for this, so it has no line in the log by default.
  new Logger('Http').debug(`400 to what is no request: ${why}`, { requestId });
}
