import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { duplexPair, type Duplex } from 'node:stream';
import type { Script } from './script.js';

/** Milliseconds after which a connection that does not end has hung. */
const HUNG = 60_000;

const ignore = (): void => undefined;

/**
 * Plays a script on a connection of its own.
 *
 * @returns what the service sent, as far as it was read
 * @throws Error where there was no connection, or no end of it
 */
export async function play(script: Script, port: number): Promise<Buffer> {
  const tcp = connect({ port, host: '127.0.0.1', noDelay: true }).on('error', ignore);
  const hang = new Error('the connection hung');
  const hung = setTimeout(() => tcp.destroy(hang), HUNG);
  const closed = new Promise((resolve) => tcp.once('close', resolve));
  const { tls } = script;
  const socket = tls ? connectTls({ socket: over(tcp), rejectUnauthorized: false, ...tls }) : tcp;
  const received: Buffer[] = [];
  if (script.isRead) socket.on('data', (chunk: Buffer) => received.push(chunk));
  const secured = tls && once(socket.on('error', ignore), 'secureConnect').catch(ignore);
  await once(tcp, 'connect');
  if (!script.isHasty) await Promise.race([secured, closed]);
  await send(script, socket);
  end(script, socket, tcp);
  await closed;
  clearTimeout(hung);
  socket.destroy();
  if (tcp.errored === hang) throw hang;
  return Buffer.concat(received);
}

/** What TLS is spoken through: with the socket itself, Node could not reset the connection any more. */
function over(tcp: Socket): Duplex {
  const [inside, outside] = duplexPair();
  tcp.pipe(outside).pipe(tcp);
  return inside;
}

async function send({ steps }: Script, socket: Socket): Promise<void> {
  for (const step of steps) {
    if (socket.destroyed) return;
    if (typeof step === 'number') await sleep(step);
    else socket.write(step, 'latin1');
  }
}

/** Ends a connection on which nothing comes any more. */
function end({ end: how, idle }: Script, socket: Socket, tcp: Socket): void {
  const finish = (): void => {
    if (how === 'reset') tcp.resetAndDestroy();
    else tcp.destroy();
  };
  if (how === 'fin') socket.end();
  if (idle === 0) finish();
  else socket.setTimeout(idle, finish);
}
