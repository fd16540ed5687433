import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import {
  Catch,
  HttpException,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import { formatStack } from '../errors/describe.js';
import type { ErrorDto } from '../errors/error.dto.js';
import { ERRORS, Fault, type ErrorKind } from '../errors/errors.js';
import { describePath, findDueAnswer, getExchange } from './exchange.js';

/** An answer with an Error body. */
export interface ErrorAnswer {
  readonly status: number;
  readonly body: ErrorDto;
  /** Headers besides those of every answer, names and values in turn. */
  readonly headers: readonly string[];
}

/** Maps what was thrown to an answer. Only a {@link Fault} shows its own message to the client. */
export function toAnswer(error: unknown): ErrorAnswer {
  if (error instanceof Fault) return createAnswer(error.kind, error.message);
  if (error instanceof HttpException) return createAnswer(findKind(error.getStatus()));
  return createAnswer(ERRORS.INTERNAL);
}

function createAnswer(kind: ErrorKind, message = kind.message): ErrorAnswer {
  const headers = Object.entries(kind.headers ?? {}).flat();
  return { status: kind.status, body: { error: kind.error, message }, headers };
}

/** Nest and Express throw by status. */
function findKind(status: number): ErrorKind {
  if (status === 404) return ERRORS.NO_SUCH_PATH;
  return status < 500 ? ERRORS.BAD_REQUEST : ERRORS.INTERNAL;
}

/** Answers with what was thrown, and logs every error that is no {@link Fault}. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Errors');
  private readonly logged = new WeakSet<Error>();

  constructor(private readonly host: HttpAdapterHost) {}

  catch(error: unknown, context: ArgumentsHost): void {
    const http = context.switchToHttp();
    const response = http.getResponse<Response>();
    const { status, body, headers } = toAnswer(error);
    if (status >= 500) this.log(http.getRequest<Request>(), response, error);
    if (response.headersSent) return;
    getExchange(response).addHeaders(headers);
    this.host.httpAdapter.reply(response, body, status);
  }

  /** Logs an error once that a whole group of plants shares. */
  private log(request: Request, response: Response, error: unknown): void {
    if (error instanceof Fault || (error instanceof Error && this.logged.has(error))) return;
    if (error instanceof Error) this.logged.add(error);
    const { requestId } = getExchange(response);
    this.logger.error(`${request.method} ${describePath(request)} failed`, formatStack(error), {
      requestId,
    });
  }
}

/**
 * Headers of every JSON answer, names and values in turn, as writeHead() takes them. They are those of helmet that
 * concern JSON: a browser must not sniff its type, frame it, load resources for it, or cache it. (OWASP REST Security
 * Cheat Sheet, "Security Headers")
 */
const JSON_HEADERS: readonly string[] = [
  ...['content-type', 'application/json'],
  ...['cache-control', 'no-store'],
  ...['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['x-content-type-options', 'nosniff'],
  ...['x-frame-options', 'DENY'],
];

/** How long a browser uses nothing but TLS with this host. */
export const HSTS_MAX_AGE_SECONDS = 365 * 24 * 60 * 60;

/** JSON_HEADERS, and RFC 6797's. Without `includeSubDomains`: other services of the domain decide for themselves. */
const TLS_JSON_HEADERS = [
  ...JSON_HEADERS,
  ...['strict-transport-security', `max-age=${HSTS_MAX_AGE_SECONDS}`],
];

function selectHeaders(socket: Duplex): readonly string[] {
  return (socket as Partial<TLSSocket>).encrypted ? TLS_JSON_HEADERS : JSON_HEADERS;
}

/** Sends a JSON body in one piece, with the headers of its exchange; with res.json() a create takes 1.12 times the CPU time. */
export function sendJson(response: ServerResponse, status: number, body: object): void {
  const { socket } = response.req;
  if (socket.destroyed) return;
  const exchange = getExchange(response);
  const text = JSON.stringify(body);
  if (status >= 400) exchange.error = (body as ErrorDto).error;
  const own = ['x-request-id', exchange.requestId, 'content-length', `${Buffer.byteLength(text)}`];
  response.writeHead(status, selectHeaders(socket).concat(own, exchange.headers));
  response.end(text);
}

/** Milliseconds that a client has to read the answer and to close its side of the connection. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Ends a connection whose next bytes are no HTTP. A whole request before them may be on its way to
 * the store, and a 400 would say that it is not: it gets its own answer first. Further ones get none,
 * as when a connection breaks.
 *
 * @param why Node's code for it; the bytes themselves are not for the log
 */
export function rejectMalformed(socket: Duplex, why = 'unknown'): void {
  const due = findDueAnswer(socket);
  if (!due) {
    endWithBadRequest(socket, why);
    return;
  }
  if (!due.headersSent) due.setHeader('connection', 'close');
  due.once('close', () => socket.destroy());
}

function endWithBadRequest(socket: Duplex, why: string): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const text = JSON.stringify(toAnswer(new Fault(ERRORS.BAD_REQUEST)).body);
  const requestId = randomUUID();
  const own = ['x-request-id', requestId, 'content-length', `${text.length}`];
  const headers = [...selectHeaders(socket), ...own, 'connection', 'close'];
  const lines = headers.map((part, i) => (i % 2 === 0 ? `${part}: ` : `${part}\r\n`));
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${text}`);
  // A client that never closes its side would keep the connection open forever.
  setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref();
  // Anyone can cause this without a token, so it has no line in the log by default.
  new Logger('Http').debug(`400 to what is no request: ${why}`, { requestId });
}
