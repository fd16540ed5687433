// A create, step 13 of 13: the response, in one write. Every other response passes here too.
import { IncomingMessage, ServerResponse, STATUS_CODES, type ServerOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Express } from 'express';
import { getConnection } from './limits/connection.js';
import type { RequestContext } from './request-context.js';

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- Express's types are extended like this
  namespace Express {
    interface Request {
      /** Bytes of memory that it counts as. */
      memoryBytes: number;
    }
    interface Response {
      /** What the service knows of the request and its response. */
      context: RequestContext;
      /**
       * Sends a JSON body in one write.
       *
       * @param headers names and values in turn, besides those that every response has
       */
      sendJson(status: number, body: object, headers?: readonly string[]): void;
    }
  }
}

/**
 * Headers of every response that has no others of their name, names and values in turn. They are those of helmet that
 * concern JSON: a browser must not sniff its type, frame it, load resources for it, or cache it (OWASP REST Security
 * Cheat Sheet, "Security Headers"). A page needs a Content-Security-Policy of its own.
 */
const HEADERS: readonly string[] = [
  ...['cache-control', 'no-store'],
  ...['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['x-content-type-options', 'nosniff'],
  ...['x-frame-options', 'DENY'],
];

/** How long a browser uses nothing but TLS with this host. */
const HSTS_MAX_AGE_SECONDS = 365 * 24 * 60 * 60;

/** HEADERS, and RFC 6797's. Without `includeSubDomains`: other services of the domain decide for themselves. */
const TLS_HEADERS = [
  ...HEADERS,
  ...['strict-transport-security', `max-age=${HSTS_MAX_AGE_SECONDS}`],
];

/** Lists the headers of every response on a connection, names and values in turn. */
function listHeaders(socket: Duplex, requestId: string): string[] {
  const headers = (socket as Partial<TLSSocket>).encrypted ? TLS_HEADERS : HEADERS;
  return headers.concat('x-request-id', requestId);
}

/** Formats a body as JSON. @returns it, and the headers that describe it, names and values in turn */
function formatJson(body: object): { text: string; headers: string[] } {
  const text = JSON.stringify(body);
  const length = String(Buffer.byteLength(text));
  return { text, headers: ['content-type', 'application/json', 'content-length', length] };
}

/** Formats a whole response that ends a connection, for bytes that are no request. */
export function formatResponse(
  socket: Duplex,
  requestId: string,
  status: number,
  body: object,
): string {
  const { text, headers } = formatJson(body);
  const all = [...listHeaders(socket, requestId), ...headers, 'connection', 'close'];
  const lines = all.map((part, i) => (i % 2 === 0 ? `${part}: ` : `${part}\r\n`));
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`;
}

/** The classes of a server's requests and responses. */
export type MessageClasses = Required<Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>>;

/**
 * Makes the classes of a server's requests and responses. They have Express's prototypes from the start: Express sets
 * them on each request and response, which then changes nothing and leaves V8 what it knows of their shape.
 */
export function createMessageClasses(app: Express): MessageClasses {
  class PlantStoreRequest extends IncomingMessage {
    memoryBytes = 0;

    /** Node hands over each piece of a body by this, and null at its end. */
    override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
      const { reading } = getConnection(this);
      if (chunk) reading.addPiece(chunk.length);
      else reading.addWhole();
      return super.push(chunk, encoding);
    }
  }

  class PlantStoreResponse<Sent extends IncomingMessage> extends ServerResponse<Sent> {
    context!: RequestContext;

    sendJson(status: number, body: object, headers: readonly string[] = []): void {
      const { socket } = this.req;
      if (socket.destroyed) return;
      if (this.isAheadOfBody()) {
        this.req.resume().once('end', () => this.sendJson(status, body, headers));
        return;
      }
      const json = formatJson(body);
      const own = json.headers.concat(headers);
      // Another header, or a middleware that has put its own writeHead() in the place of ours.
      if (this.getHeaderNames().length > 0 || Object.hasOwn(this, 'writeHead'))
        this.writeHead(status, own);
      else {
        this.prepare();
        super.writeHead(status, listHeaders(socket, this.context.requestId).concat(own));
      }
      this.end(json.text);
    }

    /** Every other way to respond ends here, and may have set headers of its own. */
    override writeHead(...head: unknown[]): this {
      this.prepare();
      const headers = listHeaders(this.req.socket, this.context.requestId);
      for (let i = 0; i < headers.length; i += 2) {
        const [name = '', value = ''] = headers.slice(i, i + 2);
        if (!this.hasHeader(name)) this.setHeader(name, value);
      }
      return super.writeHead(...(head as Parameters<ServerResponse['writeHead']>));
    }

    private prepare(): void {
      getConnection(this.req).endIfLast(this);
      // Node discards the rest of an unread body unseen, and its chunks would not be counted.
      if (!this.req.complete) this.req.read(0);
    }

    /** Whether a connection would end while its client sends a body: it might lose the response. */
    private isAheadOfBody(): boolean {
      const { complete, headers } = this.req;
      return !complete && headers.expect === undefined && getConnection(this.req).isLast(this);
    }
  }

  Object.setPrototypeOf(PlantStoreRequest.prototype, app.request);
  Object.setPrototypeOf(PlantStoreResponse.prototype, app.response);
  Object.assign(app, {
    request: PlantStoreRequest.prototype,
    response: PlantStoreResponse.prototype,
  });
  return { IncomingMessage: PlantStoreRequest, ServerResponse: PlantStoreResponse };
}
