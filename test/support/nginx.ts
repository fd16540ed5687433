import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueCertificate } from './certificate.js';
import { freePort } from './postgres-programs.js';
import { Log } from './secrecy.js';

export const FRAGMENT = resolve('deploy/nginx/plant-store.conf');
/** Debian's place of nginx, which only root has in its PATH. */
const PATH = `${process.env.PATH}:/usr/sbin`;
const MAX_TRIES = 3;
const KINDS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

const ending = new AbortController();
process.once('exit', () => ending.abort());

/** The folder of an nginx, and the ports that it may listen on. */
export interface Place {
  readonly folder: string;
  readonly port: number;
  readonly tlsPort: number;
}

/** What a test has instead of the files in /etc/nginx. */
export interface Site {
  /** The content of upstream.conf. */
  readonly upstream: string;
  /** Whether it also listens with TLS. The certificate is in cert.pem and key.pem. */
  readonly isTls?: boolean;
  /** The kind of its certificate's key; by default ECDSA's. */
  readonly keyType?: 'ec' | 'rsa';
  /** Files that replace those of tests, by their path. */
  readonly files?: (place: Place) => Readonly<Record<string, string>>;
}

/** The line of upstream.conf for a process of the service. */
export const upstreamLine = (port: number): string => `server 127.0.0.1:${port} max_fails=0;\n`;

/** nginx with `deploy/nginx/plant-store.conf`, in its own folder. */
export class Nginx {
  private constructor(
    /** Where it has its files, those of bodies in `client_body`. */
    readonly folder: string,
    private readonly child: ChildProcessWithoutNullStreams,
    /** The port of HTTP. */
    readonly port: number,
    /** The port of HTTPS, if it has TLS. */
    readonly tlsPort: number,
  ) {}

  /** Resolves once it listens. */
  static async start(site: Site): Promise<Nginx> {
    for (let tries = 1; ; tries++) {
      const folder = mkdtempSync(join(tmpdir(), 'plant-store-nginx-'));
      const [port, tlsPort] = await Promise.all([freePort(), freePort()]);
      await configure(site, { folder, port, tlsPort });
      const own = ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')];
      const child = spawn('nginx', [...own, '-g', 'daemon off;'], {
        env: { PATH },
        // Ends it with this process at the latest; its workers would survive a SIGKILL.
        signal: ending.signal,
        killSignal: 'SIGTERM',
      });
      const failure = await waitForWorkers(child);
      if (failure === undefined) return new Nginx(folder, child, port, tlsPort);
      rmSync(folder, { recursive: true });
      // Another process may have taken a port.
      if (!failure.includes('Address already in use') || tries === MAX_TRIES)
        throw new Error(`nginx ended: ${failure}`);
    }
  }

  /** Whether it runs. */
  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Its access log so far. */
  get accessLog(): string {
    return readFileSync(join(this.folder, 'access.log'), 'utf8');
  }

  /** Resolves once the access log has a line, which is written after the response. */
  async logged(line: RegExp): Promise<void> {
    while (!line.test(this.accessLog)) await sleep(5);
  }

  async stop(): Promise<void> {
    if (this.child.kill('SIGTERM')) await once(this.child, 'close');
    rmSync(this.folder, { recursive: true });
  }
}

/** Resolves to undefined once it serves, or to its output if it ends before. */
function waitForWorkers(child: ChildProcessWithoutNullStreams): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const log = new Log();
    child.stderr.on('data', (chunk: Buffer) => {
      log.write(chunk);
      if (log.text.includes('start worker process ')) resolve(undefined);
    });
    child.on('error', reject);
    child.on('exit', () => resolve(log.text));
  });
}

/** Writes an nginx.conf, and the two files of a site. */
async function configure(site: Site, place: Place): Promise<void> {
  const { folder, port, tlsPort } = place;
  const { isTls, keyType = 'ec' } = site;
  const tls = isTls ? await issueCertificate(folder, 'localhost', { keyType }) : undefined;
  const files = {
    'nginx.conf': `
      ${process.getuid?.() === 0 ? 'user root;' : ''}
      worker_processes auto;
      pid nginx.pid;
      error_log stderr notice;
      events { worker_connections 8192; }
      http {
        ${KINDS.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n')}
        include ${FRAGMENT};
      }`,
    'plant-store/upstream.conf': site.upstream,
    'plant-store/server.conf': `
      server_name localhost;
      listen 127.0.0.1:${port} backlog=4096;
      access_log ${folder}/access.log plant_store;
      ${tls ? `listen 127.0.0.1:${tlsPort} ssl backlog=4096;` : ''}
      ${tls ? `ssl_certificate ${tls.TLS_CERT_FILE};` : ''}
      ${tls ? `ssl_certificate_key ${tls.TLS_KEY_FILE};` : ''}`,
    ...site.files?.(place),
  };
  mkdirSync(join(folder, 'plant-store'));
  for (const [path, content] of Object.entries(files)) writeFileSync(join(folder, path), content);
}
