import { randomBytes } from 'node:crypto';
import autocannon from 'autocannon';
import type { Result } from './load.js';

/**
 * autocannon's side of the load, for machines without wrk: the same requests as post.lua. Arguments:
 * URL, connections, seconds, bearer token, a whole number to start from, `sequential` or `wide`.
 */
const [url = '', connections, seconds, token = '', start, ids] = process.argv.slice(2);

let lastId = Number(start);
const nextId = ids === 'wide' ? () => randomBytes(8).readBigInt64BE() : () => ++lastId;

const run = await autocannon({
  url,
  connections: Number(connections),
  duration: Number(seconds),
  requests: [
    {
      method: 'POST',
      path: '/plants',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      setupRequest: (request) => ({
        ...request,
        body: `{"id":${nextId()},"name":"Black alder","tag":"Alnus glutinosa"}`,
      }),
    },
  ],
});

const result: Result = {
  requests: run.requests.total,
  seconds: run.duration,
  p99: run.latency.p99,
  not200: run.requests.total - (run.statusCodeStats?.['200']?.count ?? 0),
  errors: run.errors,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
