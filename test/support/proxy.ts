import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';

/** A TCP proxy before the service, which breaks every connection after so many answers. */
export class Proxy {
  /** Connections that it broke. */
  broken = 0;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  /** @param answers pieces of data from the service that a connection lets through, then breaks */
  static async start(service: number, answers: number): Promise<Proxy> {
    const server = createServer((client) => {
      const upstream = connect(service, '127.0.0.1');
      let left = answers;
      const cut = (): void => {
        client.destroy();
        upstream.destroy();
      };
      client.on('data', (chunk) => upstream.write(chunk));
      upstream.on('data', (chunk) => {
        left -= 1;
        if (left >= 0) return void client.write(chunk);
        // The service has stored the plant, but its client does not hear of it.
        proxy.broken += 1;
        cut();
      });
      for (const socket of [client, upstream]) socket.on('error', cut).on('close', cut);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new Proxy(server, (server.address() as AddressInfo).port);
    return proxy;
  }

  async stop(): Promise<void> {
    this.server.close();
    await once(this.server, 'close');
  }
}
