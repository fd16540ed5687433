/**
 * A load at a fixed rate, as of many clients that know nothing of each other. The time of a request counts from when it was due,
 * whether a connection was free or not: otherwise a server that stalls would be asked less, and look faster than it is
 * (coordinated omission).
 *
 * 1. Each turn of the event loop sends the requests that are due, each on a connection that has none in progress.
 * 2. If there is none, they wait for one, and their time runs.
 * 3. This program may be late itself, which its requests seem to wait for: it says by how much, of those with a free connection.
 * 4. A response is complete when its body is as long as its head says. Anything but 200 ends the run.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Contestant } from './contestants.js';

/** Fewer than the 256 that the service takes. */
const CONNECTIONS = 250;

/** What a load saw: times in milliseconds, from a request to its response. */
export type Load = Record<'accepted' | 'seconds' | 'p50' | 'p99' | 'p999', number>;

interface Target extends Pick<Contestant, 'name' | 'token'> {
  readonly url: string;
}

/** Returns by how much 99 % of the requests were sent late at most, too. @throws Error for a refused request or a broken connection */
export async function sendAtRate(
  target: Target,
  seconds: number,
  rate: number,
): Promise<Load & { late: number }> {
  const { name, token, url } = target;
  const { hostname, port } = new URL(url);
  const total = Math.round(rate * seconds);
  const [times, lateness] = [new Float64Array(total), new Float64Array(total)];
  const sinceDue = (number: number) => performance.now() - begin - (number * 1_000) / rate;
  const head = `POST /plants HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
  const firstId = randomInt(2 ** 47);
  const idle: Socket[] = [];
  let [sent, received] = [0, 0];
  let failure: string | undefined;
  /** Whether requests wait for a connection. */
  let isShort = false;
  const send = (socket: Socket): void => {
    const number = sent++;
    const body = `{"id":${firstId + number},"name":"Black alder","tag":"Alnus glutinosa"}`;
    socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
    let response = '';
    socket.on('data', function read(chunk: Buffer) {
      response += chunk.toString('latin1');
      if (!isComplete(response)) return;
      socket.off('data', read);
      if (!response.startsWith('HTTP/1.1 200 ')) failure = response;
      times[received++] = sinceDue(number);
      idle.push(socket);
    });
  };
  for (let i = 0; i < CONNECTIONS; i++) {
    const socket = connect(Number(port), hostname).setNoDelay();
    socket.on('close', () => (failure ??= 'a connection was closed'));
    await once(socket, 'connect');
    idle.push(socket);
  }
  const begin = performance.now();
  while (received < total && failure === undefined) {
    const due = Math.min(total, ((performance.now() - begin) * rate) / 1_000);
    for (let socket; sent < due && (socket = idle.shift());) {
      lateness[sent] = isShort ? 0 : sinceDue(sent);
      send(socket);
    }
    isShort = idle.length === 0;
    await nextTurn();
  }
  const elapsed = (performance.now() - begin) / 1_000;
  if (failure !== undefined) throw new Error(`${name}: ${failure}`);
  for (const socket of idle) socket.destroy();
  const at = (values: Float64Array, share: number) =>
    values.toSorted()[Math.ceil(share * total) - 1] ?? NaN;
  const [p50 = NaN, p99 = NaN, p999 = NaN] = [0.5, 0.99, 0.999].map((share) => at(times, share));
  return { accepted: total, seconds: elapsed, p50, p99, p999, late: at(lateness, 0.99) };
}

function isComplete(response: string): boolean {
  const end = response.indexOf('\r\n\r\n');
  const [, length = NaN] = /\r\ncontent-length: (\d+)/i.exec(response) ?? [];
  return end >= 0 && response.length >= end + 4 + Number(length);
}
