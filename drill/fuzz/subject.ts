import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { residentMb } from '../../bench/machine.js';
import { certificateIn, issueCertificate } from '../../test/support/certificate.js';
import { Client } from '../../test/support/client.js';
import { ServiceProcess } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { hang } from '../load.js';

/** Milliseconds in which the service gives back what its clients have left behind. */
const GRACE = 30_000;
/** Milliseconds after which a create has hung. */
const HUNG = 60_000;
/** Milliseconds in which garbage is collected, and its pages are given back. */
const COLLECTION = 1_000;
/** Descriptors of the thread that writes SQLite's log back: it starts with the first checkpoint, and stays. */
const CHECKPOINTER = 7;
/** Lines of the log that must not be. A client may bring more plants than may wait, though. */
const FAULT = /^\S+ (?:ERROR|FATAL) (?!.*error=5002\b).*$/gm;
/** States of a TCP connection in /proc/net/tcp: of one that is over, and of a port that is listened on. */
const NOT_OPEN = new Set(['06', '0A']);

/** The service under attack, in a process of its own. */
export class Subject {
  private descriptors = 0;
  private created = 0n;
  hasEnded = false;

  private constructor(
    readonly service: ServiceProcess,
    /** A TLS client's first bytes, where the service speaks TLS. */
    readonly clientHello: string | undefined,
  ) {
    process.once('exit', () => service.signal('SIGKILL'));
    void service.exited.then(() => (this.hasEnded = true));
  }

  static async start(isTls: boolean): Promise<Subject> {
    const store = new SqliteStore();
    if (isTls) await issueCertificate(store.folder, 'localhost');
    const tls = isTls ? certificateIn(store.folder) : {};
    const NODE_OPTIONS = `--import file://${resolve('drill/fuzz/collect-garbage.js')}`;
    const env = { LOG_LEVEL: 'info', LOG_REQUESTS: 'errors', NODE_OPTIONS, ...tls };
    const service = await ServiceProcess.start({ store, env });
    const subject = new Subject(service, isTls ? await recordClientHello() : undefined);
    await subject.create();
    subject.descriptors = Infinity;
    await subject.settle();
    subject.descriptors = subject.countDescriptors() + CHECKPOINTER;
    return subject;
  }

  /** Creates a plant as an honest client does, on a connection of its own; rejects without a 200. */
  async create(): Promise<void> {
    const { port, token } = this.service;
    const client = new Client(port, token, 1, this.clientHello !== undefined);
    try {
      const id = 10n ** 15n + this.created++;
      const answer = client.create({ id, name: 'beside' });
      const { status, text } = await Promise.race([answer, hang(HUNG)]);
      if (status !== 200) throw new Error(`a create beside was answered ${status} ${text}`);
    } finally {
      client.close();
    }
  }

  /**
   * Resolves once all connections are gone, and no more files are open than before.
   *
   * @throws Error where that takes too long
   */
  async settle(): Promise<void> {
    const until = performance.now() + GRACE;
    for (;;) {
      const [sockets, descriptors] = [this.countSockets(), this.countDescriptors()];
      if (this.hasEnded || (sockets === 0 && descriptors <= this.descriptors)) return;
      if (performance.now() > until) {
        const left = `${sockets} connections and ${descriptors} descriptors`;
        throw new Error(`${left} are left after ${GRACE} ms; at most ${this.descriptors} may be`);
      }
      await sleep(50);
    }
  }

  /** Resident memory without garbage, in MiB. */
  async memory(): Promise<number> {
    for (let times = 0; times < 2; times++) {
      this.service.signal('SIGUSR2');
      await sleep(COLLECTION);
    }
    return residentMb(this.service.pid);
  }

  /** What the log says that it should not. */
  faults(): string[] {
    return this.service.output.match(FAULT) ?? [];
  }

  private countDescriptors(): number {
    return this.hasEnded ? 0 : readdirSync(`/proc/${this.service.pid}/fd`).length;
  }

  private countSockets(): number {
    const port = this.service.port.toString(16).toUpperCase().padStart(4, '0');
    const sockets = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1, -1);
    return sockets.filter((line) => {
      const [, local = '', , state = ''] = line.trim().split(/\s+/);
      return local.endsWith(`:${port}`) && !NOT_OPEN.has(state);
    }).length;
  }
}

async function recordClientHello(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connectTls({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  client.on('error', () => undefined);
  const [accepted] = (await once(server, 'connection')) as [Socket];
  const [hello] = (await once(accepted, 'data')) as [Buffer];
  accepted.destroy();
  client.destroy();
  server.close();
  return hello.toString('latin1');
}
