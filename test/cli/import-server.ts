import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach } from '@jest/globals';
import { PlantsImport, type Refused } from '../../src/cli/plant-importer.js';

export type Listener = (plant: string, response: ServerResponse, request: IncomingMessage) => void;

/** A stand-in for the service, the latest import into it, and what stops that; new for each test. */
export let server: Server;
export let run: PlantsImport;
export let stopping: AbortController;
let listener: Listener;

/** Starts `server` before each test of the file, and stops it after it. */
export function startServers(): void {
  beforeEach(async () => {
    stopping = new AbortController();
    server = createServer((request, response) => {
      void text(request).then((plant) => listener(plant, response, request));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
}

/** Imports a source into the server, which responds by a listener. Resolves to what was refused. */
export async function importing(source: Readable, respond: Listener, tries = 5, path = '/') {
  listener = respond;
  const { port } = server.address() as AddressInfo;
  const url = new URL(path, `http://127.0.0.1:${port}`);
  const refused: Refused[] = [];
  run = new PlantsImport({ url, token: 't', tries }, stopping);
  run.on('refused', (plant) => refused.push(plant));
  await run.run(source);
  return refused;
}

export const lines = (...text: string[]): Readable => Readable.from([Buffer.from(text.join('\n'))]);
