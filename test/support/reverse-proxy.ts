import { once } from 'node:events';
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Monitor } from './monitor.js';

/** A service behind the proxy: the port that it serves on, and who looks at its management. */
export interface Backend {
  readonly port: number;
  readonly monitor: Monitor;
}

/** Milliseconds between two looks at a backend. */
const INTERVAL = 100;

/**
 * A reverse proxy that sends requests to the backends that say they are ready, over connections that
 * it keeps; it repeats nothing. A request that a backend breaks off is answered with 502.
 */
export class ReverseProxy {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly backends = new Set<Backend>();
  private readonly ready = new Set<Backend>();
  private turn = 0;

  private constructor(private readonly server: Server) {
    server.on('request', (incoming, outgoing) => {
      const ready = [...this.ready];
      const backend = ready[this.turn++ % ready.length];
      if (!backend) return void outgoing.writeHead(502).end('no backend is ready');
      const { method, url: path, headers } = incoming;
      const { port } = backend;
      const options = { agent: this.agent, host: '127.0.0.1', port, method, path, headers };
      const passed = request(options, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      passed.on('error', ({ message }) => outgoing.writeHead(502).end(message));
      incoming.pipe(passed);
    });
  }

  static async start(): Promise<ReverseProxy> {
    const proxy = new ReverseProxy(createServer());
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Sends requests to a backend whenever it is ready; resolves once it is for the first time. */
  async add(backend: Backend): Promise<void> {
    this.backends.add(backend);
    await this.look(backend);
    while (!this.ready.has(backend)) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  /** Forgets a backend that is gone. */
  remove(backend: Backend): void {
    this.backends.delete(backend);
    this.ready.delete(backend);
  }

  stop(): void {
    this.backends.clear();
    this.agent.destroy();
    this.server.close();
    this.server.closeAllConnections();
  }

  private async look(backend: Backend): Promise<void> {
    const isReady = await backend.monitor.ready().then(
      ({ status }) => status === 200,
      () => false,
    );
    if (!this.backends.has(backend)) return;
    if (isReady) this.ready.add(backend);
    else this.ready.delete(backend);
    setTimeout(() => void this.look(backend), INTERVAL);
  }
}
