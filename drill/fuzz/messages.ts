import { readFileSync } from 'node:fs';
import { requestText } from '../../test/support/raw-connection.js';
import type { Random } from '../random.js';

/** A request, and the status that it must be answered with. Texts are Latin-1: a character is a byte. */
export interface KnownRequest {
  readonly text: string;
  readonly status: number;
  /** Whether it has an active token. */
  readonly hasToken?: true;
}

const PLANT = '{"id":987654321987654321,"name":"n","tag":"t"}';
const read = JSON.parse(readFileSync('drill/fuzz/http.json', 'utf8'), (_name, value: unknown) =>
  typeof value !== 'string'
    ? value
    : value
        .replaceAll('«plant»', PLANT)
        .replace(/«(.)\*(\d+)»/, (_, character: string, times) => character.repeat(Number(times))),
) as Record<
  'methods' | 'targets' | 'versions' | 'headers' | 'bodies' | 'chunks' | 'marks',
  string[]
>;
const { methods, targets, versions, headers: LINES, bodies, chunks, marks } = read;
const DICTIONARY = [marks, methods, targets, versions, LINES, bodies, chunks].flat();

/** A request that any client might send; no two plants share an id, so a create is answered 200. */
export function knownRequest(random: Random, token: string, id: string): KnownRequest {
  const type = { 'content-type': 'application/json' };
  const headers = { ...type, authorization: `Bearer ${token}` };
  const plant = `{"id":${id},"name":"n"}`;
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;
  return random.pick<KnownRequest>([
    { text: requestText(headers, plant), status: 200, hasToken: true },
    { text: requestText(headers, plant), status: 200, hasToken: true },
    { text: requestText(headers, '{'), status: 400, hasToken: true },
    { text: requestText({ ...headers, 'content-type': 'a' }, plant), status: 400, hasToken: true },
    { text: requestText(type, plant), status: 401 },
    { text: requestText({ ...headers, authorization: `Bearer ${token}a` }, plant), status: 401 },
    { text: get('/plants'), status: 405 },
    { text: get('/nowhere'), status: 404 },
    { text: get('/openapi.json'), status: 200 },
    { text: get('/docs/'), status: 200 },
  ]);
}

/** A request put together of parts that need not fit. */
export function wildRequest(random: Random, token: string): string {
  const body = random.pick(random.once(4) ? chunks : bodies);
  const usual = [
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    chunks.includes(body) ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`,
  ].filter(() => !random.once(8));
  const lines = [...usual, ...random.sample(LINES, random.below(3))];
  const start = `${random.pick(methods)} ${random.pick(targets)} ${random.pick(versions)}`;
  return `${[start, ...lines].join('\r\n')}\r\n\r\n${body}`;
}

/** Changes a text in one to four places. */
export function mutate(random: Random, text: string): string {
  let result = text;
  for (let left = 1 + random.below(4); left > 0; left--) {
    const at = random.below(result.length + 1);
    const to = Math.min(result.length, at + 1 + random.below(random.pick([2, 16, 200])));
    const cut = result.slice(at, to);
    const flipped = String.fromCharCode((cut.charCodeAt(0) || 0) ^ (1 << random.below(8)));
    const instead = random.pick([
      '',
      flipped + cut.slice(1),
      cut + cut,
      cut + random.pick(DICTIONARY),
      random.pick(DICTIONARY),
      random.bytes(cut.length),
    ]);
    result = result.slice(0, at) + instead + result.slice(to);
  }
  return result;
}
