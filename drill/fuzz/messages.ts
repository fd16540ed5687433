import { requestText } from '../../test/support/raw-connection.js';
import type { Random } from './random.js';

/** A request, and the status that it must be answered with. Texts are Latin-1: a character is a byte. */
export interface KnownRequest {
  readonly text: string;
  readonly status: number;
}

const PLANT = '{"id":987654321987654321,"name":"n","tag":"t"}';
const METHODS =
  words(`POST | POST | POST | POST | GET | GET | GET | HEAD | PUT | DELETE | OPTIONS | TRACE
  PATCH | CONNECT | PRI | PROPFIND | M-SEARCH | SOURCE | QUERY | post | P OST | X`);
const TARGETS =
  words(`/plants | /plants | /plants | /plants?a=b | /plants/ | //plants | /%70lants | /Plants
  / | /docs | /docs/ | /docs/index.html | /docs/swagger-ui.css | /docs/swagger-ui-init.js | /docs/package.json
  /docs/../openapi.json | /docs/%2e%2e/%2e%2e/package.json | /docs/%00 | /docs// | /docs/a%5c..%5cb
  /openapi.json | /openapi.yaml | /openapi.json?a | /plants%00 | /% | /%ff | /\xe9 | /plants;a | /plants#a
  http://localhost/plants | https://a/docs/ | http:// | // | localhost:80 | * | a | /${'a'.repeat(5_000)}`);
const VERSIONS =
  words(`HTTP/1.1 | HTTP/1.1 | HTTP/1.1 | HTTP/1.1 | HTTP/1.1 | HTTP/1.0 | HTTP/0.9 | HTTP/2.0
  HTTP/1.2 | HTTP/1.10 | http/1.1 | HTTP/ 1.1 | ICE/1.0 | RTSP/1.0 | FTP`);
const LINES =
  words(`Host: a | Host: | Host: a b | Authorization: Bearer x | Authorization: Basic Og==
  Authorization: | Authorization: Bearer plant_${'a'.repeat(38)} | Authorization: Bearer a.b.c
  Connection: close | Connection: keep-alive, upgrade | Connection: upgrade | Upgrade: h2c | Upgrade: websocket
  Sec-WebSocket-Version: 13 | HTTP2-Settings: AAMAAABkAAQAAP__ | Expect: 100-continue | Expect: 200-ok
  Transfer-Encoding: chunked | Transfer-Encoding: gzip, chunked | Transfer-Encoding:\tchunked | Trailer: a
  Transfer-Encoding: chunked, a | TE: trailers | Content-Length: 0 | Content-Length: 5 | Content-Length: -1
  Content-Length: +1 | Content-Length: 18446744073709551616 | Content-Length: 99999 | Content-Length: 60000
  Content-Type: text/plain | Content-Type: | Content-Type: application/json; charset=utf-16
  Content-Encoding: gzip | Accept-Encoding: gzip | Range: bytes=0-1 | Range: bytes=9999999-
  Range: bytes=0-1,5-6 | If-Range: "a" | If-Match: "a" | If-None-Match: * | If-Modified-Since: a
  If-Modified-Since: Fri, 31 Dec 2100 00:00:00 GMT | If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT
  X-Request-Id: \x7f | X-Request-Id: a | X-Forwarded-For: a | Forwarded: for=a | Origin: http://a | Cookie: a=b
  Access-Control-Request-Method: POST | traceparent: 00-0-0-0 | __proto__: a | \x20folded | No colon
  : no name | A\0: a | A: \0 | A : a | A: ${'a'.repeat(17_000)}`);
const BODIES =
  words(`${PLANT} | ${PLANT} | ${PLANT} | { | [] | null | " | {"id":1.5,"name":1,"tag":null}
  \xff\xfe | {"id":7e2,"name":"\\u0000"} | {"id":1,"name":"\\ud800"} | {"__proto__":{},"id":1}
  {"id":1e999999999,"name":"n"} | {"id":${'9'.repeat(30_000)},"name":"n"} | ${'['.repeat(30_000)}
  {"id":1,"name":"${'n'.repeat(70_000)}"} | {"id":-9223372036854775809,"name":"n"}`);
const CHUNKS = [
  ...[`2e\r\n${PLANT}\r\n0\r\n\r\n`, '0\r\n\r\n', '0\r\nA: b\r\n\r\n', '5;a=b\r\n{"id"\r\n'],
  ...['ffffffffffffffff\r\n', '7fffffffffffffff\r\na', '-1\r\n', `1;${'a'.repeat(20_000)}`],
];
const MARKS = words(
  '\t | : | " | % | \r | \n | \0 | \x80 | \r\n | \r\n\r\n | \n\n | \x16\x03\x01 | HTTP/1.1 200 OK',
);
const DICTIONARY = [...MARKS, ...METHODS, ...TARGETS, ...VERSIONS, ...LINES, ...BODIES, ...CHUNKS];

function words(text: string): string[] {
  return text.split(/ \| |\n {2}/);
}

/** A request that any client might send; no two plants share an id, so a create is answered 200. */
export function knownRequest(random: Random, token: string, id: string): KnownRequest {
  const type = { 'content-type': 'application/json' };
  const headers = { ...type, authorization: `Bearer ${token}` };
  const plant = `{"id":${id},"name":"n"}`;
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;
  return random.pick([
    { text: requestText(headers, plant), status: 200 },
    { text: requestText(headers, plant), status: 200 },
    { text: requestText(headers, '{'), status: 400 },
    { text: requestText({ ...headers, 'content-type': 'a' }, plant), status: 400 },
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
  const body = random.pick(random.once(4) ? CHUNKS : BODIES);
  const usual = [
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    CHUNKS.includes(body) ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`,
  ].filter(() => !random.once(8));
  const lines = [...usual, ...random.several(random.below(3), () => random.pick(LINES))];
  const start = `${random.pick(METHODS)} ${random.pick(TARGETS)} ${random.pick(VERSIONS)}`;
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
