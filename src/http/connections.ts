import type { Server, ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds at a shutdown in which requests on open connections are still served. */
const LINGER = 250;

/** The open connections of a server, and how they come to their end. */
export class Connections {
  private readonly open = new Set<Socket>();

  constructor(private readonly server: Server) {
    // Over TLS, a request is read from another socket than the one that was accepted.
    const event = server instanceof https.Server ? 'secureConnection' : 'connection';
    server.on(event, (socket: Socket) => {
      this.open.add(socket);
      socket.once('close', () => this.open.delete(socket));
    });
  }

  /** Takes no new connections, and serves what is on its way on the open ones. */
  async linger(): Promise<void> {
    // http.Server's own close() ends idle connections at once, and with them requests on their way.
    net.Server.prototype.close.call(this.server);
    await sleep(LINGER);
  }

  /** After so many milliseconds, cuts off every client that has not sent a whole request. */
  cutOffAfter(patience: number): NodeJS.Timeout {
    return setTimeout(() => {
      for (const socket of this.open) if (!answerDueOn(socket)) socket.destroy();
    }, patience);
  }
}

/** The answer that a connection's whole request still waits for, if there is one. */
export function answerDueOn(socket: Duplex): ServerResponse | undefined {
  // Node's own field for the answer under way; its own handler of client errors looks there too.
  const { _httpMessage: answer } = socket as Duplex & { _httpMessage?: ServerResponse | null };
  return answer?.req.complete ? answer : undefined;
}
