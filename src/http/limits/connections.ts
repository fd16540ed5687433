// A create, step 1 of 13: all open connections, within limits of memory and number.
import { once } from 'node:events';
import type { Server } from 'node:http';
import https from 'node:https';
import { Server as TcpServer, type Socket } from 'node:net';
import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { Logger } from '@nestjs/common';
import { createThrottle } from '../../errors/availability-log.js';
import type { Request, Response } from 'express';
import { Connection, getConnection, type HandleRequest } from './connection.js';
import { Turns, type SharedLimits } from './shared-limits.js';

/** Milliseconds between two rounds of cutting clients off at a shutdown. */
const CUT_OFF_INTERVAL_MS = 100;

/**
 * Bytes of memory that a connection counts as: its socket, its parser, and an incomplete head of 100 fields in 16 KiB.
 * TLS adds most of its own outside the heap, where a container has as much memory again (docs/operating.md, "Memory").
 */
const CONNECTION_BYTES = 24 * 1024;
const TLS_CONNECTION_BYTES = 64 * 1024;
/** A connection that is still negotiating TLS: OpenSSL keeps up to 128 KiB of a message twice. */
const HANDSHAKE_BYTES = 256 * 1024;

/** The part of V8's heap limit for all connections together. The rest is for the service itself, and garbage. */
const HEAP_SHARE = 0.4;
/** Each is a file descriptor. */
const MAX_CONNECTIONS = 10_000;
/** The part of either limit that is in use after an eviction. */
const EVICT_TO = 0.9;
/** Two connections in the same step of memory count as equal when connections are evicted. */
const STEP_BYTES = 16 * 1024;
/** Milliseconds that a client over TLS has to read, once it has closed its side: longer than the database takes. */
const LEFT_TIMEOUT_MS = 30_000;
/** Milliseconds between two checks for what no event reports. */
const CHECK_INTERVAL_MS = 200;

/** The open connections of a server: their limits, and how they end at a shutdown. */
export class Connections implements SharedLimits {
  private readonly open = new Set<Connection>();
  /** Connections that are negotiating TLS, by their clients' addresses. */
  private readonly handshaking = new Map<string, Connection>();
  private reserved = 0;
  readonly turns = new Turns();
  isDraining = false;
  private readonly budget = HEAP_SHARE * getHeapStatistics().heap_size_limit;
  private readonly mayLog = createThrottle();

  /** @param bodyLimit of a request, in bytes */
  constructor(
    private readonly server: Server,
    readonly bodyLimit: number,
    private readonly handle: HandleRequest,
  ) {
    // Without listeners for the other two Node asks for the body at once, or responds with 417 without an Error body.
    // json-body.ts sends `100 Continue`, so a client without a token gets its 401 before it sends a body.
    for (const event of ['request', 'checkContinue', 'checkExpectation'])
      server.on(event, (request: Request, response: Response) =>
        getConnection(request).receive(request, response),
      );
    // Behind the reading of what has arrived.
    const checks = setInterval(() => setImmediate(this.check), CHECK_INTERVAL_MS).unref();
    server.once('close', () => clearInterval(checks));
    if (!(server instanceof https.Server)) {
      server.on('connection', (socket: Socket) => this.keep(socket, CONNECTION_BYTES));
      return;
    }
    // Requests are read from another socket than the one that was accepted.
    server.on('connection', (socket: Socket) => {
      const client = identifyClient(socket);
      this.handshaking.set(client, this.keep(socket, HANDSHAKE_BYTES));
      socket.once('close', () => this.handshaking.delete(client));
    });
    server.on('secureConnection', (socket: Socket) => {
      // Node may not notice a dead TLS peer, and waits twice as long for one that has not read.
      socket.once('end', () => socket.setTimeout(LEFT_TIMEOUT_MS));
      const client = identifyClient(socket);
      const accepted = this.handshaking.get(client);
      this.handshaking.delete(client);
      if (accepted) this.open.delete(accepted);
      accepted?.memory.release();
      this.keep(socket, TLS_CONNECTION_BYTES, accepted?.socket);
    });
  }

  /** Requests without a complete response. */
  get inFlight(): number {
    return [...this.open].reduce((sum, { responses }) => sum + responses.length, 0);
  }

  add(bytes: number): void {
    this.reserved += bytes;
    if (bytes > 0 && this.reserved > this.budget) this.evict();
  }

  /** Takes no new connections, and serves what is in transit on the open ones, until all have ended or the timeout. */
  async drain(timeoutMs: number): Promise<void> {
    const { server } = this;
    const ended = once(server, 'close');
    // http.Server's own close() would end idle connections at once, and with them requests in transit.
    TcpServer.prototype.close.call(server);
    await Promise.race([ended, sleep(timeoutMs, undefined, { ref: false })]);
    // A starved process has not read yet what arrived meanwhile.
    await endOfTurn();
    for (const connection of this.handshaking.values()) connection.destroy();
  }

  /** After a timeout, disconnects clients that wait for no response, or do not read theirs. */
  cutOffAfter(timeoutMs: number): NodeJS.Timeout {
    const from = performance.now() + timeoutMs;
    return setInterval(() => {
      if (performance.now() < from) return;
      for (const { due, socket } of this.open) if (due?.headersSent !== false) socket.destroy();
    }, CUT_OFF_INTERVAL_MS);
  }

  /** Ends connections whose bytes bring no request: key updates of TLS, and blank lines (RFC 9112, section 2.2). */
  private readonly check = (): void => {
    const { keepAliveTimeout, headersTimeout } = this.server;
    for (const connection of this.open) {
      connection.reading.checkWire();
      if (connection.isIdleFor(keepAliveTimeout + headersTimeout)) connection.destroy();
    }
  };

  private keep(socket: Socket, bytes: number, wire?: Socket): Connection {
    const connection = new Connection(socket, bytes, this, this.handle, wire);
    // It may be evicted by now.
    if (socket.destroyed) return connection;
    this.open.add(connection);
    socket.once('close', () => this.open.delete(connection));
    if (this.open.size > MAX_CONNECTIONS) this.evict();
    return connection;
  }

  /**
   * Closes connections until both limits are kept: first those without an active token, of these the ones whose
   * requests take most memory, of these the oldest. So a new connection is always served.
   */
  private evict(): void {
    const before = this.open.size;
    const byWorth = [...this.open].sort(
      (a, b) => Number(a.isTrusted) - Number(b.isTrusted) || countSteps(b) - countSteps(a),
    );
    for (const connection of byWorth) {
      if (this.reserved <= EVICT_TO * this.budget && this.open.size <= EVICT_TO * MAX_CONNECTIONS)
        break;
      connection.destroy();
      this.open.delete(connection);
    }
    if (!this.mayLog()) return;
    new Logger('Http').warn(
      `too many connections, or too much memory: closed ${before - this.open.size} of ${before}`,
    );
  }
}

function countSteps({ memory }: Connection): number {
  return Math.floor(memory.requestBytes / STEP_BYTES);
}

function identifyClient({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
