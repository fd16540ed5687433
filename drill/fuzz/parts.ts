import { METHODS as NODE_METHODS } from 'node:http';

// The parts of raw requests. Texts are Latin-1. An item listed twice is picked twice as often.

const PLANT = '{"id":987654321987654321,"name":"n","tag":"t"}';

const USUAL = ['POST', 'GET'].flatMap((method) =>
  new Array<string>(NODE_METHODS.length).fill(method),
);
export const METHODS = [...USUAL, ...NODE_METHODS, 'PRI', 'post', 'P OST', 'X'];

export const TARGETS = [
  ...['/plants', '/plants', '/plants', '/plants', '/plants?a=b', '/plants/', '//plants', '/é'],
  ...['/%70lants', '/plants;a', '/plants#a', '/plants%00', '/%ff', '/', '/docs', '/docs/'],
  ...['/docs/swagger-ui.css', '/docs/../openapi.json', '/docs/%2e%2e/%2e%2e/package.json'],
  ...['/docs/%00', '/docs/a%5c..%5cb', '/openapi.json', '/openapi.yaml', 'https://a/docs/'],
  ...['http://localhost/plants', 'http://', '//', 'localhost:80', '*', `/${'a'.repeat(5_000)}`],
];

export const VERSIONS = [
  ...['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0'],
  ...['HTTP/1.10', 'http/1.1', 'HTTP/ 1.1', 'RTSP/1.0'],
];

export const HEADERS = [
  ...['Host: a', 'Host: ', 'Host: a b', 'Authorization: Bearer a.b.c', 'Authorization: '],
  ...[`Authorization: Bearer plant_${'a'.repeat(38)}`, 'Connection: close', 'Upgrade: h2c'],
  ...['Connection: keep-alive, upgrade', 'Connection: upgrade', 'Upgrade: websocket'],
  ...['Expect: 100-continue', 'Expect: 200-ok', 'Transfer-Encoding: chunked', 'Trailer: a'],
  ...['Transfer-Encoding: gzip, chunked', 'Transfer-Encoding: \tchunked', 'Content-Length: 5'],
  ...['Content-Length: 0', 'Content-Length: -1', 'Content-Length: 18446744073709551616'],
  ...['Content-Length: 99999', 'Content-Type: text/plain', 'Content-Encoding: gzip'],
  ...['Range: bytes=0-1', 'Range: bytes=9999999-', 'If-None-Match: *', 'If-Match: "a"'],
  ...['X-Request-Id: \x7f', 'Origin: http://a', 'A: \0', `A: ${'a'.repeat(17_000)}`],
  ...['__proto__: a', ' folded', 'No colon', ': no name', 'A\0: a', 'A : a'],
];

/** Few, as test/http/plants.property and Schemathesis send many. */
export const BODIES = [
  ...[PLANT, PLANT, PLANT, '{', '\xff\xfe', '{"id":1,"name":"\\ud800"}', '['.repeat(30_000)],
  ...[`{"id":${'9'.repeat(30_000)},"name":"n"}`, `{"id":1,"name":"${'n'.repeat(70_000)}"}`],
];

/** Bodies in chunks. */
export const CHUNKS = [
  ...[`2e\r\n${PLANT}\r\n0\r\n\r\n`, '0\r\n\r\n', '0\r\nA: b\r\n\r\n', '5;a=b\r\n{"id"\r\n'],
  ...['ffffffffffffffff\r\n', '7fffffffffffffff\r\na', '-1\r\n', `1;${'a'.repeat(20_000)}`],
];

/** Texts for mutations: separators, other protocols, and all parts above. */
export const DICTIONARY = [
  ...['\t', ':', '"', '%', '\r', '\n', '\0', '\x80', '\r\n', '\r\n\r\n', '\n\n', '\x16\x03\x01'],
  ...['HTTP/1.1 200 OK', ...METHODS, ...TARGETS, ...VERSIONS, ...HEADERS, ...BODIES, ...CHUNKS],
];

/** The start of a ClientHello of the length of a TLS record. */
export const CLIENT_HELLO = `\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb\x03\x03${'\0'.repeat(16_000)}`;
