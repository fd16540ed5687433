// The parts of raw requests. Texts are Latin-1. An item listed twice is picked twice as often.

const PLANT = '{"id":987654321987654321,"name":"n","tag":"t"}';

export const METHODS = [
  ...['POST', 'POST', 'POST', 'POST', 'GET', 'GET', 'GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'],
  ...['TRACE', 'PATCH', 'CONNECT', 'PRI', 'PROPFIND', 'M-SEARCH', 'SOURCE', 'QUERY'],
  ...['post', 'P OST', 'X'],
];

export const TARGETS = [
  ...['/plants', '/plants', '/plants', '/plants?a=b', '/plants/', '//plants', '/%70lants'],
  ...['/Plants', '/', '/docs', '/docs/', '/docs/index.html', '/docs/swagger-ui.css'],
  ...['/docs/swagger-ui-init.js', '/docs/package.json', '/docs/../openapi.json'],
  ...['/docs/%2e%2e/%2e%2e/package.json', '/docs/%00', '/docs//', '/docs/a%5c..%5cb'],
  ...['/openapi.json', '/openapi.yaml', '/openapi.json?a', '/plants%00', '/%', '/%ff', '/é'],
  ...['/plants;a', '/plants#a', 'http://localhost/plants', 'https://a/docs/', 'http://', '//'],
  ...['localhost:80', '*', 'a', `/${'a'.repeat(5_000)}`],
];

export const VERSIONS = [
  ...['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/0.9'],
  ...['HTTP/2.0', 'HTTP/1.2', 'HTTP/1.10', 'http/1.1', 'HTTP/ 1.1', 'ICE/1.0', 'RTSP/1.0', 'FTP'],
];

const VALUES = {
  Host: ['a', '', 'a b'],
  Authorization: ['Bearer x', 'Basic Og==', '', `Bearer plant_${'a'.repeat(38)}`, 'Bearer a.b.c'],
  Connection: ['close', 'keep-alive, upgrade', 'upgrade'],
  Upgrade: ['h2c', 'websocket'],
  'Sec-WebSocket-Version': ['13'],
  'HTTP2-Settings': ['AAMAAABkAAQAAP__'],
  Expect: ['100-continue', '200-ok'],
  'Transfer-Encoding': ['chunked', 'gzip, chunked', '\tchunked', 'chunked, a'],
  Trailer: ['a'],
  TE: ['trailers'],
  'Content-Length': ['0', '5', '-1', '+1', '18446744073709551616', '99999', '60000'],
  'Content-Type': ['text/plain', '', 'application/json; charset=utf-16'],
  'Content-Encoding': ['gzip'],
  'Accept-Encoding': ['gzip'],
  Range: ['bytes=0-1', 'bytes=9999999-', 'bytes=0-1,5-6'],
  'If-Range': ['"a"'],
  'If-Match': ['"a"'],
  'If-None-Match': ['*'],
  'If-Modified-Since': ['a', 'Fri, 31 Dec 2100 00:00:00 GMT'],
  'If-Unmodified-Since': ['Thu, 01 Jan 1970 00:00:00 GMT'],
  'X-Request-Id': ['\x7f', 'a'],
  'X-Forwarded-For': ['a'],
  Forwarded: ['for=a'],
  Origin: ['http://a'],
  Cookie: ['a=b'],
  'Access-Control-Request-Method': ['POST'],
  traceparent: ['00-0-0-0'],
  A: ['\0', 'a'.repeat(17_000)],
};

export const HEADERS = [
  ...Object.entries(VALUES).flatMap(([name, values]) => values.map((each) => `${name}: ${each}`)),
  ...['__proto__: a', ' folded', 'No colon', ': no name', 'A\0: a', 'A : a'],
];

export const BODIES = [
  ...[PLANT, PLANT, PLANT, '{', '[]', 'null', '"', '{"id":1.5,"name":1,"tag":null}', '\xff\xfe'],
  ...['{"id":7e2,"name":"\\u0000"}', '{"id":1,"name":"\\ud800"}', '{"__proto__":{},"id":1}'],
  ...['{"id":1e999999999,"name":"n"}', `{"id":${'9'.repeat(30_000)},"name":"n"}`],
  ...['['.repeat(30_000), `{"id":1,"name":"${'n'.repeat(70_000)}"}`],
  '{"id":-9223372036854775809,"name":"n"}',
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
