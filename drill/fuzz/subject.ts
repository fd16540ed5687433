import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { duplexPair } from 'node:stream';
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
/** The service under attack, in a process of its own. */
export class Subject {
  /** Files that may be open when no client is connected, and sockets among them. */
  private most = { files: Infinity, sockets: Infinity };
  private created = 0n;
  hasEnded = false;

  private constructor(
    readonly service: ServiceProcess,
    /** A TLS client's first bytes, where the service speaks TLS. */
    readonly clientHello: string | undefined,
  ) {
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
    const { files, sockets } = subject.countOpen();
    subject.most = { files: files + CHECKPOINTER, sockets };
    await subject.create();
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
      const { files, sockets } = this.countOpen();
      if (files <= this.most.files && sockets <= this.most.sockets) return;
      if (performance.now() > until) {
        throw new Error(`${sockets} sockets and ${files} files are left after ${GRACE} ms`);
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

  private countOpen(): { files: number; sockets: number } {
    if (this.hasEnded) return { files: 0, sockets: 0 };
    const links = execFileSync('ls', ['-l', `/proc/${this.service.pid}/fd`], { encoding: 'utf8' });
    return { files: links.split('\n').length, sockets: links.split(' -> socket:').length };
  }
}

async function recordClientHello(): Promise<string> {
  const [inside, outside] = duplexPair();
  const client = connectTls({ socket: inside });
  const [hello] = (await once(outside, 'data')) as [Buffer];
  client.destroy();
  return hello.toString('latin1');
}
