import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '../../test/support/local-server.js';

/** CommandComplete and ReadyForQuery (postgresql.org/docs/current/protocol-message-formats.html). */
const ENDS = [...Buffer.from('CZ')];
/** The share of these that a fault hits by default. */
const SHARE = 0.05;
/** Milliseconds that a message is held at most: longer than any request may wait; and until its duplicate. */
const [MAX_HOLD_MS, MAX_DELAY_MS] = [7_000, 20];

export type Fault = (message: Buffer, client: Socket) => unknown;

const FAULTS: readonly Fault[] = [
  // Cut before it, after it, and within.
  (_message, client) => client.destroy(),
  (message, client) => client.end(message),
  (message, client) => client.end(message.subarray(0, Math.random() * message.length)),
  // Held.
  async (message, client) => {
    await sleep(Math.random() * MAX_HOLD_MS);
    client.write(message);
  },
  duplicate,
];

/** Sends a message twice. */
export async function duplicate(message: Buffer, client: Socket): Promise<void> {
  client.write(message);
  await sleep(Math.random() * MAX_DELAY_MS);
  client.write(message);
}

/** A proxy that reads PostgreSQL's messages, and spoils some that end a statement. */
export class MessageProxy {
  /** Whether it spoils messages. */
  isFaulty = false;
  /** How many it has spoiled, by one fault after the other. */
  spoiled = 0;
  private readonly server: Server;
  private readonly clients = new Set<Socket>();

  private constructor(
    private readonly target: number,
    private readonly faults: readonly Fault[],
    private readonly share: number,
  ) {
    this.server = createServer((client) => {
      this.clients.add(client);
      client.once('close', () => this.clients.delete(client));
      void this.pass(client);
    });
  }

  /** Resolves to its port, too. @param share of the messages that end a statement which a fault hits, 0 to 1 */
  static async start(target: number, faults = FAULTS, share = SHARE) {
    const proxy = new MessageProxy(target, faults, share);
    return { proxy, port: await listen(proxy.server) };
  }

  /** Closes all connections. That of a killed client may still have bytes to be written. */
  async stop(): Promise<void> {
    const closed = once(this.server.close(), 'close');
    for (const client of this.clients) client.destroy();
    await closed;
  }

  private async pass(client: Socket): Promise<void> {
    const upstream = connect(this.target, '127.0.0.1');
    client.setNoDelay().on('error', () => upstream.destroy());
    client.on('close', () => upstream.destroy()).pipe(upstream);
    try {
      let rest = Buffer.alloc(0);
      for await (const chunk of upstream as AsyncIterable<Buffer>) {
        rest = Buffer.concat([rest, chunk]);
        for (let length; (length = lengthOf(rest)) <= rest.length; rest = rest.subarray(length))
          await this.send(rest.subarray(0, length), client);
      }
      client.end();
    } catch {
      client.destroy();
    }
  }

  private async send(message: Buffer, client: Socket): Promise<void> {
    const isEnd = ENDS.includes(message[0] ?? 0);
    const isSpoiled = this.isFaulty && isEnd && Math.random() < this.share;
    if (isSpoiled) await this.faults[this.spoiled++ % this.faults.length]?.(message, client);
    else client.write(message);
  }
}

/** The length of the first message: a byte of type, then the length of the rest. Infinity if it is not there yet. */
function lengthOf(bytes: Buffer): number {
  return bytes.length < 5 ? Infinity : 1 + bytes.readInt32BE(1);
}
