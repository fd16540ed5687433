import type { RequestListener, Server } from 'node:http';
import https from 'node:https';
import net, { type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerDueOn, Connection } from './connection.js';

/** Milliseconds at a shutdown in which requests on open connections are still served. */
const LINGER = 250;

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

  /** Takes no new connections, and serves what is on its way on the open ones. */
  async linger(): Promise<void> {
    // http.Server's own close() ends idle connections at once, and with them requests on their way.
    net.Server.prototype.close.call(this.server);
    await sleep(LINGER);
    for (const socket of this.handshaking.values()) socket.destroy();
  }

  /** After so many milliseconds, cuts off every client that has not sent a whole request. */
  cutOffAfter(patience: number): NodeJS.Timeout {
    return setTimeout(() => {
      for (const socket of this.open) if (!answerDueOn(socket)) socket.destroy();
    }, patience);
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
