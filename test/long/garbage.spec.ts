/** @engine sqlite */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from '@jest/globals';
import { parseCollection } from '../../bench/machine.js';
import { requestText } from '../support/raw-connection.js';
import { ServiceProcess } from '../support/service-process.js';

/** Reconnects before what is judged: V8 compiles the program, and new space grows to its full size. */
const WARM_UP = 4;
const RECONNECTS = 10;
const CONNECTIONS = 48;
/** For each connection. */
const CREATES = 100;
/** Collections of new space that are judged together: some 300 MB of garbage. */
const WINDOW = 20;

it(`keeps under 5 % of what creates allocate, over ${RECONNECTS} reconnects`, async () => {
  const node = ['sh', '-c', `exec "$0" --trace-gc-nvp "$@"`];
  const service = await ServiceProcess.start({ under: node });
  const { headers } = service.client();
  const reconnect = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      const clients = Array.from({ length: CONNECTIONS }, () =>
        createPlants(service.port, headers),
      );
      await Promise.all(clients);
    }
  };
  await reconnect(WARM_UP);
  const { length: start } = readScavenges(service.output);
  await reconnect(RECONNECTS);
  service.signal('SIGTERM');
  await service.exited;
  const scavenges = readScavenges(service.output).slice(start);
  const shares = scavenges.slice(WINDOW).map((_, i) => {
    const window = scavenges.slice(i, i + WINDOW);
    const sum = (name: 'allocated' | 'survived' | 'promoted') =>
      window.reduce((total, each) => total + each[name], 0);
    return (sum('survived') + sum('promoted')) / sum('allocated');
  });
  expect(shares.length).toBeGreaterThan(WINDOW);
  expect(Math.max(...shares)).toBeLessThan(0.05);
  await service.remove();
}, 120_000);

let id = 0;

/** Creates plants on a connection of its own, each as soon as the one before has its response. */
async function createPlants(
  port: number,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  for (let i = 0; i < CREATES; i++) {
    socket.write(
      requestText(headers, `{"id":${id++},"name":"Common alder","tag":"Alnus glutinosa"}`),
    );
    const [response] = (await once(socket, 'data')) as [Buffer];
    if (!response.includes('HTTP/1.1 200 OK')) throw new Error(response.toString());
  }
  socket.destroy();
}

/** The collections of new space, from V8's lines. */
function readScavenges(output: string) {
  const collections = output.split('\n').flatMap((line) => parseCollection(line) ?? []);
  return collections.filter(({ isScavenge }) => isScavenge);
}
