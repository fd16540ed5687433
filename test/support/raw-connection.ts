import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { receive, type Received } from './received.js';
import { recordSecrets } from './secrecy.js';

/** A TCP connection, for bytes that no HTTP client would send. */
export class RawConnection {
  private bytes = Buffer.alloc(0);
  private wake = (): void => undefined;

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.bytes = Buffer.concat([this.bytes, chunk]);
      this.wake();
    });
    // A reset ends the connection too; read() then reports the missing bytes.
    socket.on('error', () => undefined);
    socket.on('close', () => this.wake());
  }

  /** @param allowHalfOpen whether it can still send after the service has closed its side */
  static async open(port: number, allowHalfOpen = false): Promise<RawConnection> {
    const connection = new RawConnection(connect({ port, host: '127.0.0.1', allowHalfOpen }));
    await once(connection.socket, 'connect');
    return connection;
  }

  write(bytes: string | Buffer): this {
    if (typeof bytes === 'string') recordSecrets(bytes);
    this.socket.write(bytes);
    return this;
  }

  /**
   * Reads the next response with its whole body. Rejects if the connection ends before.
   *
   * @param request the method and path of its request
   */
  async read(request = { method: 'POST', path: '/plants' }): Promise<Received> {
    const end = await this.until(() => this.bytes.indexOf('\r\n\r\n'));
    const { status, headers } = parseHead(this.bytes.toString('latin1', 0, end));
    const start = end + 4;
    const length = Number(headers['content-length'] ?? 0);
    await this.until(() => (this.bytes.length >= start + length ? 0 : -1));
    const body = this.bytes.toString('utf8', start, start + length);
    this.bytes = this.bytes.subarray(start + length);
    return receive(request, status, headers, body);
  }

  /** Resolves once the service has closed the connection. */
  async closed(): Promise<void> {
    // once() would reject on a reset.
    if (!this.socket.closed) await new Promise((resolve) => this.socket.once('close', resolve));
  }

  close(): void {
    this.socket.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private async until(found: () => number): Promise<number> {
    for (;;) {
      const at = found();
      if (at >= 0) return at;
      if (this.socket.closed)
        throw new Error(`the connection ended after: ${this.bytes.toString()}`);
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}

/** Status and headers of a response, by name in lower case, from the lines before its body. */
export function parseHead(head: string): { status: number; headers: Record<string, string> } {
  const [statusLine = '', ...lines] = head.split('\r\n');
  const pairs = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ]);
  const headers = Object.fromEntries(pairs) as Record<string, string>;
  return { status: Number(statusLine.split(' ')[1]), headers };
}

/** The text of a request. `content-length` is that of the body, unless the headers have another or say `chunked`. */
export function requestText(headers: Readonly<Record<string, string>>, body = ''): string {
  const isChunked = 'transfer-encoding' in headers;
  const length = isChunked ? {} : { 'content-length': `${Buffer.byteLength(body)}` };
  const all = { host: 'localhost', ...length, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /plants HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}
