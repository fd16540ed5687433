import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * Stands before the servers of PostgreSQL, and passes connections on to one of them, as HAProxy or
 * PgBouncer would: the service knows one address.
 */
export class Proxy {
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private target: number,
  ) {
    server.on('connection', (client) => this.pass(client));
  }

  /** @param target the port of the server on this machine */
  static async start(target: number): Promise<Proxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Proxy(server, target);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Passes to another server from now on; the connections to the one before are cut. */
  pointAt(target: number): void {
    this.target = target;
    for (const socket of this.sockets) socket.destroy();
  }

  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private pass(client: Socket): void {
    const upstream = connect(this.target, '127.0.0.1');
    client.pipe(upstream).pipe(client);
    for (const [one, other] of [[client, upstream] as const, [upstream, client] as const]) {
      this.sockets.add(one);
      // Its 'close' follows.
      one.on('error', () => undefined);
      one.on('close', () => {
        this.sockets.delete(one);
        other.destroy();
      });
    }
  }
}
