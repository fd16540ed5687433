import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { requestText } from '../test/support/raw-connection.js';
import { SqliteStore } from '../test/support/sqlite-store.js';
import { service, startServer } from './contestants.js';
import { residentMb, stepAside, useDisk } from './machine.js';
import { describeRun, number, percent, publish, spreadOf, table } from './markdown.js';
import { options } from './options.js';
import { PLACES } from './report.js';

/** As many as a busy proxy, or a crowd of clients, would open. */
const CONNECTIONS = 4_000;
/** Requests a second, more than anyone sends. */
const UNBOUNDED = 1_000_000;
const FACTORS = [1, 2, 5, 10];
const STATUS = /^HTTP\/1\.1 (\d{3})/;

/** `npm run bench:overload`: what the service still does for more load than it can take. */
useDisk();
stepAside();
const server = await startServer(service('this service', new SqliteStore()));
const port = Number(new URL(server.url).port);
const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' };
let lastId = 0;
const { rounds, seconds, warmUp } = options;

/**
 * Sends plants at a rate, as long as a connection is free to carry them, and waits for the last answers.
 *
 * @param rate requests a second, over all connections
 * @returns answers a second in that time; the milliseconds from sending a request to its 200
 */
async function flood(connections: number, rate: number, seconds: number) {
  const counts = { sent: 0, 200: 0, 503: 0, errors: 0 };
  const times: number[] = [];
  const sentAt = new Map<Socket, number>();
  const idle: Socket[] = [];
  // One after the other: the kernel lets a crowd at the door wait for seconds, not the service.
  while (idle.length < connections) {
    const socket = connect(port, '127.0.0.1').setNoDelay();
    await once(socket, 'connect');
    idle.push(socket);
    socket.on('error', () => (counts.errors += 1));
    socket.on('close', () => sentAt.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      // An answer is one small write, so it comes in one piece.
      const status = Number(STATUS.exec(chunk.toString('latin1', 0, 12))?.[1]);
      if (status === 200) times.push(performance.now() - (sentAt.get(socket) ?? NaN));
      counts[status === 200 || status === 503 ? status : 'errors'] += 1;
      sentAt.delete(socket);
      idle.push(socket);
    });
  }
  const sockets = [...idle];
  let memoryMb = 0;
  const watch = setInterval(() => (memoryMb = Math.max(memoryMb, residentMb(server.pid))), 200);
  const began = performance.now();
  for (let elapsed = 0, due = 0; elapsed < seconds; elapsed = (performance.now() - began) / 1e3) {
    for (; due < rate * elapsed; due++) {
      // Each in its turn, so that none is idle for as long as the service waits for a request.
      const socket = idle.shift();
      if (!socket) continue;
      const body = `{"id":${++lastId},"name":"Common alder","tag":"Alnus glutinosa"}`;
      socket.write(requestText(headers, body));
      sentAt.set(socket, performance.now());
      counts.sent += 1;
    }
    await turn();
  }
  const [sent, accepted, refused] = [counts.sent, counts[200], counts[503]].map((n) => n / seconds);
  while (sentAt.size > 0) await turn();
  clearInterval(watch);
  for (const socket of sockets) socket.destroy();
  const p99 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)];
  return { sent, accepted, refused, p99, memoryMb, errors: counts.errors };
}
type Sample = Awaited<ReturnType<typeof flood>>;

function median(samples: readonly Sample[], figure: keyof Sample): number {
  return spreadOf(samples.map((sample) => sample[figure] ?? NaN)).median;
}

/** What is accepted of clients of which each waits for its answer: no more than the service can take. */
const closed: Sample[] = [];
await flood(options.connections, UNBOUNDED, warmUp);
while (closed.length < rounds) closed.push(await flood(options.connections, UNBOUNDED, seconds));
const capacity = median(closed, 'accepted');
// The last one comes at once after the worst.
const loads = [...FACTORS, 0.5].map((factor) => ({ factor, samples: [] as Sample[] }));
for (let round = 0; round < rounds; round++) {
  for (const { factor, samples } of loads) {
    samples.push(await flood(CONNECTIONS, factor * capacity, seconds));
  }
}
await server.stop();

const head = ['load', 'sent/s', '200/s (of capacity)', '503/s', 'p99 of the 200s', 'memory'];
const rows = loads.map(({ factor, samples }) => [
  `${factor} × capacity`,
  number(median(samples, 'sent')),
  `${number(median(samples, 'accepted'))} (${percent(median(samples, 'accepted') / capacity)})`,
  number(median(samples, 'refused')),
  `${number(median(samples, 'p99'))} ms`,
  `${number(median(samples, 'memoryMb'))} MB`,
  number(samples.reduce((sum, { errors }) => sum + errors, 0)),
]);
const description = describeRun(
  'bench:overload',
  options.version,
  `- SQLite, ${CONNECTIONS} connections, ${PLACES}`,
  `- capacity: ${number(capacity)} creates/s, by ${options.connections} clients of which each waits for its answer`,
  `- medians of ${rounds} rounds of ${seconds} s; the load comes at its own pace: a request goes out on a connection that is free, and where none is, not at all`,
);
const report = [description, table([...head, 'errors'], rows)];
publish(report, [], options.quick ? undefined : ['performance.md', 'overload']);
