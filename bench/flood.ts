import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A stretch of load that comes at its own pace, as long as a connection is free to carry it. */
export interface Flood {
  readonly url: string;
  readonly token: string;
  readonly connections: number;
  /** Requests a second, all connections taken together. */
  readonly rate: number;
  readonly seconds: number;
}

/** What came of it. */
export interface FloodResult {
  /** Requests a second that were sent: a connection has one at a time. */
  readonly sent: number;
  /** Answers of 200 and of 503 a second, while the load lasted. */
  readonly accepted: number;
  readonly refused: number;
  /** The 99th percentile, in milliseconds, of the time from sending a request to its 200. */
  readonly p99: number;
  /** Answers with any other status, and connections that broke. */
  readonly errors: number;
}

const STATUS = /^HTTP\/1\.1 (\d{3})/;

/** A connection, and when its request was sent; undefined while it has none. */
interface Lane {
  readonly socket: Socket;
  sentAt: number | undefined;
}

/** Sends plants with ids from a first one on, at a rate, and waits for the last answers. */
export async function flood(load: Flood, firstId: number): Promise<FloodResult> {
  const counts = { sent: 0, 200: 0, 503: 0, errors: 0 };
  const times: number[] = [];
  // One after the other: the kernel lets a crowd at the door wait for seconds, not the service.
  const lanes: Lane[] = [];
  while (lanes.length < load.connections) lanes.push(await open(load.url));
  const idle = [...lanes];
  for (const lane of lanes) {
    lane.socket.on('error', () => {
      counts.errors += 1;
    });
    lane.socket.on('data', (chunk: Buffer) => {
      // An answer is one small write, so it comes in one piece.
      const status = Number(STATUS.exec(chunk.toString('latin1', 0, 12))?.[1]);
      if (status === 200) times.push(performance.now() - (lane.sentAt ?? 0));
      if (status === 200 || status === 503) counts[status] += 1;
      else counts.errors += 1;
      lane.sentAt = undefined;
      idle.push(lane);
    });
  }
  const began = performance.now();
  const elapsed = () => (performance.now() - began) / 1_000;
  let due = 0;
  while (elapsed() < load.seconds) {
    const until = Math.floor(load.rate * elapsed());
    for (; due < until; due++) {
      // Each in its turn, so that none is left without a request for as long as the service waits for one.
      const lane = idle.shift();
      // Every connection waits for its answer: whoever comes now goes without.
      if (!lane) continue;
      lane.socket.write(requestOf(firstId + due, load.token));
      lane.sentAt = performance.now();
      counts.sent += 1;
    }
    await turn();
  }
  const inTime = { ...counts };
  while (lanes.some(({ sentAt, socket }) => sentAt !== undefined && !socket.destroyed)) {
    await turn();
  }
  for (const { socket } of lanes) socket.destroy();
  times.sort((a, b) => a - b);
  return {
    sent: counts.sent / load.seconds,
    accepted: inTime[200] / load.seconds,
    refused: inTime[503] / load.seconds,
    p99: times[Math.floor(times.length * 0.99)] ?? Number.NaN,
    errors: counts.errors,
  };
}

async function open(url: string): Promise<Lane> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setNoDelay();
  await once(socket, 'connect');
  return { socket, sentAt: undefined };
}

function requestOf(id: number, token: string): string {
  const body = `{"id":${id},"name":"Common alder","tag":"Alnus glutinosa"}`;
  return (
    `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}

/** The event loop goes round once, so that answers are read. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
