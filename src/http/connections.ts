import type { RequestListener, Server } from 'node:http';
import https from 'node:https';
import net, { type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerDueOn, Connection } from './connection.js';

/** Milliseconds at a shutdown in which requests on open connections are still served. */
const DRAIN_MS = 250;
/** Milliseconds between two times that clients are cut off then. */
const CUT_OFF_INTERVAL_MS = 500;

/** The open connections of a server, and how they come to their end. */
export class Connections {
  private readonly open = new Set<Socket>();
  /** Those that have not agreed on TLS yet, by their clients' addresses. */
  private readonly handshaking = new Map<string, Socket>();

  /** @param serve is handed the requests that come in on them */
  constructor(
    private readonly server: Server,
    private readonly serve: RequestListener,
  ) {
    if (!(server instanceof https.Server)) {
      server.on('connection', (socket: Socket) => this.keep(socket));
      return;
    }
    // Requests are read from another socket than the one that was accepted.
    server.on('connection', (socket: Socket) => {
      const client = clientOf(socket);
      this.handshaking.set(client, socket);
      socket.once('close', () => this.handshaking.delete(client));
    });
    server.on('secureConnection', (socket: Socket) => {
      this.handshaking.delete(clientOf(socket));
      this.keep(socket);
    });
  }

  /** Takes no new connections, and serves what is in transit on the open ones. */
  async linger(): Promise<void> {
    // http.Server's own close() ends idle connections at once, and with them requests in transit.
    net.Server.prototype.close.call(this.server);
    await sleep(DRAIN_MS);
    for (const socket of this.handshaking.values()) socket.destroy();
  }

  /** After so many milliseconds, and from then on, cuts off every client that no answer is due to. */
  cutOffAfter(timeoutMs: number): NodeJS.Timeout {
    const from = performance.now() + timeoutMs;
    return setInterval(
      () => {
        if (performance.now() < from) return;
        for (const socket of this.open) if (!answerDueOn(socket)) socket.destroy();
      },
      Math.min(timeoutMs, CUT_OFF_INTERVAL_MS),
    );
  }

  private keep(socket: Socket): void {
    new Connection(socket, this.serve);
    this.open.add(socket);
    socket.once('close', () => this.open.delete(socket));
  }
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Bytes that the bodies of all connections may take together, each in transit and as long as it may be. */
const MAX_BODY_BYTES = 256 * 2 ** 20;
/** Fewer are not enough for anyone, however long the bodies may be. */
const MIN_CONNECTIONS = 1_024;
/** Each costs some 10 KB by itself. */
const MAX_CONNECTIONS = 10_000;

/**
 * How many connections there may be at once, so that memory is bounded: 4,096 with bodies of up to
 * 64 KiB. A client needs a token for its body to be read, but the token of one will do for all.
 *
 * @param bodyLimit the longest body, in bytes
 */
export function maxConnections(bodyLimit: number): number {
  return Math.max(
    MIN_CONNECTIONS,
    Math.min(MAX_CONNECTIONS, Math.floor(MAX_BODY_BYTES / bodyLimit)),
  );
}
