import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { Logger } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { speaksTls } from '../http/key-pair.js';
import { SIGNALS } from '../shutdown.js';
import { BackOff } from './back-off.js';
import { closeUntaken } from './hand-over.js';

/** Milliseconds beyond its time after which a worker is one that can no longer end by itself. */
const MARGIN = 5_000;

/** The primary process: it keeps workers running, which share a port, and serves nothing itself. */
export class Workers {
  private readonly logger = new Logger('Workers');
  private readonly running = new Set<ChildProcess>();
  private readonly backOff = new BackOff();
  /** Whether a worker has come so far as to listen. */
  private listening = false;
  private stopping = false;

  constructor(private readonly config: Config) {}

  /**
   * Starts one worker, and the others once it listens: what fails a start does so once. (Node's
   * primary breaks where two workers ask at a time for a port that cannot be had.)
   */
  start(): void {
    for (const signal of SIGNALS) process.on(signal, () => this.stop());
    // Each of them reads the certificate anew.
    if (speaksTls(this.config)) process.on('SIGHUP', () => this.signal('SIGHUP'));
    this.fork();
  }

  private fork(): void {
    const started = performance.now();
    const worker = cluster.fork();
    const child = worker.process;
    this.running.add(child);
    closeUntaken(child);
    worker.once('listening', () => this.onListening(child));
    // It could not be started, or not be sent something: its end says the rest.
    worker.on('error', ({ message }) => this.logger.error(message));
    // Unlike 'exit', this comes in either case.
    child.once('close', () => this.onEnd(child, performance.now() - started));
  }

  private onListening({ pid }: ChildProcess): void {
    this.logger.debug(`worker ${pid} listens`);
    if (this.listening || this.stopping) return;
    this.listening = true;
    for (let i = 1; i < this.config.workers; i++) this.fork();
  }

  /** @param lived milliseconds */
  private onEnd(child: ChildProcess, lived: number): void {
    this.running.delete(child);
    const { pid, exitCode, signalCode } = child;
    const end = `worker ${pid} ended ${signalCode ? `by ${signalCode}` : `with code ${exitCode}`}`;
    if (this.stopping) {
      // A signal to end kills one that has only just started.
      const inOrder = exitCode === 0 || SIGNALS.some((signal) => signal === signalCode);
      if (!inOrder) process.exitCode = 1;
      if (this.running.size === 0) process.exit();
    } else if (this.listening) {
      const wait = this.backOff.next(lived);
      this.logger.error(`${end}; another one starts in ${wait} ms`);
      setTimeout(() => {
        if (!this.stopping) this.fork();
      }, wait);
    } else {
      // With code 1 it has said why.
      if (exitCode !== 1) this.logger.error(`${end} before it listened`);
      process.exit(1);
    }
  }

  /** Ends the workers, which answer what they have taken, and then this process. */
  private stop(): void {
    this.stopping = true;
    this.signal('SIGTERM');
    if (this.running.size === 0) process.exit();
    const { shutdownDelay, shutdownTimeout } = this.config;
    setTimeout(() => this.signal('SIGKILL'), shutdownDelay + shutdownTimeout + MARGIN);
  }

  private signal(signal: NodeJS.Signals): void {
    for (const child of this.running) child.kill(signal);
  }
}
