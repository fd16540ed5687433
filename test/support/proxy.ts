import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy like HAProxy or PgBouncer: its address stays the same. */
export class Proxy {
  /** Number of connections broken after their last response. */
  broken = 0;
  /** The first bytes of each connection. */
  readonly openings: Buffer[] = [];
  private readonly sockets = new Set<Socket>();
  /** How often the connections have died. */
  private deaths = 0;

  private constructor(
    private readonly server: Server,
    readonly port: number,
    private target: number,
    private readonly responses: number,
  ) {
    server.on('connection', (client) => this.pass(client));
  }

  /** @param responses pieces of data from the target after which a connection breaks */
  static async start(target: number, responses = Infinity): Promise<Proxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Proxy(server, (server.address() as AddressInfo).port, target, responses);
  }

  /** Switches to another port, and cuts all connections. */
  pointAt(target: number): void {
    this.target = target;
    for (const socket of this.sockets) socket.destroy();
  }

  /** The connections of now pass nothing any more, without a reset, as when a firewall forgets them. New ones work. */
  forget(): void {
    this.deaths += 1;
  }

  async stop(): Promise<void> {
    this.server.close();
    this.pointAt(0);
    await once(this.server, 'close');
  }

  private pass(client: Socket): void {
    const upstream = connect(this.target, '127.0.0.1');
    let left = this.responses;
    const { deaths } = this;
    const cut = (): void => {
      for (const socket of [client, upstream]) {
        socket.destroy();
        this.sockets.delete(socket);
      }
    };
    client.once('data', (chunk: Buffer) => this.openings.push(chunk));
    client.on('data', (chunk) => this.deaths === deaths && upstream.write(chunk));
    upstream.on('data', (chunk) => {
      if (this.deaths > deaths) return;
      left -= 1;
      if (left >= 0) return void client.write(chunk);
      // The plant is stored, but its client gets no response.
      this.broken += 1;
      cut();
    });
    for (const socket of [client, upstream]) {
      this.sockets.add(socket);
      socket.on('error', cut).on('close', cut);
    }
  }
}
