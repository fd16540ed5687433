import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The minimum in Node: parse the JSON body, respond with JSON. */
const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (text += chunk));
  request.on('end', () => {
    const { name, tag } = JSON.parse(text) as { name: string; tag?: string };
    const plant = JSON.stringify({ name, tag });
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(plant),
    });
    response.end(plant);
  });
});

server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
