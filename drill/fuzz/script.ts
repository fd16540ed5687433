import { MAX_REQUESTS } from '../../src/http/limits/index.js';
import { requestText } from '../../test/support/raw-connection.js';
import type { Random } from '../random.js';
import { BODIES, CHUNKS, DICTIONARY, HEADERS, METHODS, TARGETS, VERSIONS } from './dictionary.js';

/** The acts of one connection. Texts are Latin-1: a character is a byte. */
export interface Script {
  /** The client's TLS, if any. */
  readonly tls: { readonly maxVersion: 'TLSv1.2' | 'TLSv1.3' } | undefined;
  /** Whether it sends before the connection or the TLS handshake is complete. */
  readonly isHasty: boolean;
  /** Texts to send, and pauses in milliseconds. */
  readonly steps: readonly (string | number)[];
  readonly isRead: boolean;
  /** How the client ends it: by FIN, by a reset, or both sides at once. */
  readonly end: 'fin' | 'reset' | 'close';
  /** Milliseconds without a byte after which the client ends it. */
  readonly idle: number;
  /** The statuses of the first answers, if known. */
  readonly expected: readonly number[];
  /** How many of these must come. */
  readonly due: number;
}

/** A request, and the status of its answer. */
interface KnownRequest {
  readonly text: string;
  readonly status: number;
}

/** The maximum of pipelined requests. */
const MAX_PIPELINED = 300;
const IDLE_MS = [0, 1, 5, 20, 100] as const;
/** Milliseconds for a flood to reach the service before the end, which discards unsent bytes. */
const FLOOD_MS = 100;
const FLOOD = ['/docs/swagger-ui-bundle.js', '/docs/', '/openapi.json', '/plants', '/nowhere'];

/**
 * Writes the script of a connection: valid requests, mutated or cut ones, or floods.
 *
 * @param target an active token, and the first bytes of a TLS client if the service uses TLS
 */
export function writeScript(
  random: Random,
  { token, clientHello }: { readonly token: string; readonly clientHello: string | undefined },
  index: number,
): Script {
  const isTls = clientHello !== undefined && !random.once(6);
  const way = {
    tls: isTls ? { maxVersion: random.pick(['TLSv1.2', 'TLSv1.3'] as const) } : undefined,
    isHasty: random.once(10),
    isRead: !random.once(4),
    end: random.pick(['fin', 'reset', 'close'] as const),
    idle: random.pick(IDLE_MS),
    expected: [],
    due: 0,
  };
  if (clientHello !== undefined && !isTls) {
    const hello = random.pick([clientHello, mutate(random, clientHello), random.bytes(300)]);
    return { ...way, steps: split(random, cut(random, hello)), isRead: false };
  }
  if (random.once(150)) {
    const count = 1 + random.below(random.pick([20, 300, 1_000]));
    return {
      ...way,
      steps: [get(random.pick(FLOOD)).repeat(count)],
      isRead: false,
      idle: FLOOD_MS,
    };
  }
  if (random.once(3)) return { ...way, ...writeKnown(random, token, index, isTls) };
  const requests = Array.from({ length: 1 + random.below(random.pick([1, 1, 1, 8])) }, () =>
    random.once(2) ? writeWild(random, token) : pickKnown(random, token, '9').text,
  );
  const text = random.once(3) ? requests.join('') : mutate(random, requests.join(''));
  return { ...way, steps: split(random, random.once(3) ? cut(random, text) : text) };
}

/**
 * Pipelined valid requests, the last of which ends the connection; or a part of them.
 *
 * Over TLS not all answers must come: Node takes bytes after a pause of its own for a fault
 * (HPE_PAUSED; `https` of 20.20, 24.21 and 26.10), and the connection is closed or stalls.
 */
function writeKnown(random: Random, token: string, index: number, isTls: boolean) {
  const count = 1 + random.below(random.once(40) ? MAX_PIPELINED : random.pick([1, 1, 1, 6]));
  const requests = Array.from({ length: count }, (_, i) =>
    pickKnown(random, token, `-1${index}${i + 1_000}`),
  );
  const text = requests.map((request) => request.text).join('');
  if (random.once(3)) {
    const sent = cut(random, text);
    let end = 0;
    const whole = requests.filter((request) => (end += request.text.length) <= sent.length);
    return { steps: split(random, sent), expected: whole.map(({ status }) => status) };
  }
  const isWhole = !isTls || count === 1;
  return {
    isRead: true,
    steps: split(random, text + get('/nowhere', 'connection: close\r\n')),
    end: 'close' as const,
    idle: isWhole ? 30_000 : 500,
    expected: [...requests.map(({ status }) => status), 404],
    due: isWhole ? Math.min(count + 1, MAX_REQUESTS) : 0,
  };
}

/** Picks a request that any client might send. Each create has its own id, so it is answered 200. */
function pickKnown(random: Random, token: string, id: string): KnownRequest {
  const type = { 'content-type': 'application/json' };
  const valid = { ...type, authorization: `Bearer ${token}` };
  const plant = `{"id":${id},"name":"n"}`;
  return random.pick<KnownRequest>([
    { text: requestText(valid, plant), status: 200 },
    { text: requestText(valid, plant), status: 200 },
    { text: requestText(valid, '{'), status: 400 },
    { text: requestText({ ...valid, 'content-type': 'a' }, plant), status: 400 },
    { text: requestText(type, plant), status: 401 },
    { text: requestText({ ...valid, authorization: `Bearer ${token}a` }, plant), status: 401 },
    { text: get('/plants'), status: 405 },
    { text: get('/nowhere'), status: 404 },
    { text: get('/openapi.json'), status: 200 },
    { text: get('/docs/'), status: 200 },
  ]);
}

function get(path: string, more = ''): string {
  return `GET ${path} HTTP/1.1\r\nhost: a\r\n${more}\r\n`;
}

/** Writes a request of parts that need not fit together. */
function writeWild(random: Random, token: string): string {
  const body = random.pick(random.once(4) ? CHUNKS : BODIES);
  const usual = [
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    CHUNKS.includes(body) ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`,
  ].filter(() => !random.once(8));
  const lines = [...usual, ...random.sample(HEADERS, random.below(3))];
  const start = `${random.pick(METHODS)} ${random.pick(TARGETS)} ${random.pick(VERSIONS)}`;
  return `${[start, ...lines].join('\r\n')}\r\n\r\n${body}`;
}

/** Changes a text in one to four places. */
function mutate(random: Random, text: string): string {
  let result = text;
  for (let left = 1 + random.below(4); left > 0; left--) {
    const at = random.below(result.length + 1);
    const to = Math.min(result.length, at + 1 + random.below(random.pick([2, 16, 200])));
    const old = result.slice(at, to);
    const flipped = String.fromCharCode((old.charCodeAt(0) || 0) ^ (1 << random.below(8)));
    const word = random.pick(DICTIONARY);
    const bytes = random.bytes(old.length);
    const changed = random.pick(['', flipped + old.slice(1), old + old, old + word, word, bytes]);
    result = result.slice(0, at) + changed + result.slice(to);
  }
  return result;
}

function cut(random: Random, text: string): string {
  return text.slice(0, random.below(text.length + 1));
}

/** In up to four pieces, with pauses. */
function split(random: Random, text: string): (string | number)[] {
  if (random.once(2)) return [text];
  const at = random.below(text.length + 1);
  const rest = text.slice(at);
  return [text.slice(0, at), random.below(10), ...(random.once(2) ? split(random, rest) : [rest])];
}
