import fc, { type Arbitrary } from 'fast-check';
import { requestText } from '../../test/support/raw-connection.js';
import {
  BODIES,
  CHUNKS,
  CLIENT_HELLO,
  DICTIONARY,
  HEADERS,
  METHODS,
  TARGETS,
  VERSIONS,
} from './parts.js';

/** What a client does on one connection. Texts are Latin-1: a character is a byte. */
export interface Script {
  /** The client's TLS; without it the client sends plain bytes. */
  readonly tls: 'TLSv1.2' | 'TLSv1.3' | undefined;
  /** Whether the client sends before the connection or the TLS handshake is complete. */
  readonly isHasty: boolean;
  /** Texts to send, and pauses in milliseconds. */
  readonly steps: readonly (string | number)[];
  readonly isRead: boolean;
  /** How the client ends the connection: by FIN, by a reset, or both sides at once. */
  readonly end: 'fin' | 'reset' | 'close';
  /** Milliseconds without a byte after which the client ends the connection. */
  readonly idle: number;
  /** The statuses of the first responses, if known. */
  readonly expected: readonly number[];
}

/** The name of plants that must not be stored. */
export const REFUSED = 'refused';
/** Ids that mutated requests do not have: a plant of such an id always has the same content. */
const OWN_IDS = fc.bigInt({ min: -(2n ** 50n), max: -(2n ** 49n) });

const pick = <Item>(items: readonly Item[]): Arbitrary<Item> => fc.constantFrom(...items);
const once = (times: number) => fc.nat(times - 1).map((n) => n === 0);
const bytes = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((some) => Buffer.from(some).toString('latin1'));
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nhost: a\r\n${more}\r\n`;

/** A body in chunks that is larger than the limit. */
const LARGE = `${`ffff\r\n${'x'.repeat(0xffff)}\r\n`.repeat(5)}0\r\n\r\n`;

/** Requests that any client might send, with the statuses of their responses. @param name of refused plants */
function validRequests(token: string, id: bigint, name: string) {
  const type = { 'content-type': 'application/json' };
  const valid = { ...type, authorization: `Bearer ${token}` };
  const plant = `{"id":9,"name":"${name}"}`;
  return [
    [requestText(valid, `{"id":${id},"name":"n"}`), 200],
    [requestText({ ...valid, expect: '100-continue' }, `{"id":${id},"name":"n"}`), 200],
    [requestText({ ...valid, 'transfer-encoding': 'chunked' }) + LARGE, 400],
    [requestText(valid, '{'), 400],
    [requestText({ ...valid, 'content-type': 'a' }, plant), 400],
    [requestText(type, plant), 401],
    [requestText({ ...valid, authorization: `Bearer ${token}a` }, plant), 401],
    [get('/plants'), 405],
    [get('/nowhere'), 404],
    [get('/openapi.json'), 200],
    [get('/docs/'), 200],
  ] as const;
}

/** Ends a connection with a 404. */
const LAST = get('/nowhere', 'connection: close\r\n');

/** A request of parts that need not fit together. Half lack one of the usual four headers. */
function wildRequest(token: string): Arbitrary<string> {
  const line = fc.tuple(pick(METHODS), pick(TARGETS), pick(VERSIONS));
  const body = fc.oneof({ weight: 3, arbitrary: pick(BODIES) }, pick(CHUNKS));
  const parts = fc.tuple(line, fc.nat(7), fc.array(pick(HEADERS), { maxLength: 2 }), body);
  return parts.map(([start, missing, more, content]) => {
    const usual = [
      'Host: localhost',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      CHUNKS.includes(content) ? 'Transfer-Encoding: chunked' : `Content-Length: ${content.length}`,
    ].filter((_, i) => i !== missing);
    return `${[start.join(' '), ...usual, ...more].join('\r\n')}\r\n\r\n${content}`;
  });
}

/** Replaces some of a text, or nothing, by another text, or repeats it. The place is taken modulo the length. */
function mutate(text: Arbitrary<string>): Arbitrary<string> {
  const length = fc.oneof(fc.nat(1), fc.nat(15), fc.nat(199));
  const insertion = fc.oneof(pick(['', undefined]), pick(DICTIONARY), bytes(1), bytes(200));
  const mutations = fc.array(fc.tuple(fc.nat(), length, insertion), { maxLength: 4 });
  return fc.tuple(text, mutations).map(([whole, changes]) =>
    changes.reduce((result, [place, length, insertion]) => {
      const at = place % (result.length + 1);
      const to = at + length;
      return result.slice(0, at) + (insertion ?? result.slice(at, to).repeat(2)) + result.slice(to);
    }, whole),
  );
}

/** Places and milliseconds of pauses within a text. Places are taken modulo the length. */
const pausesInside = fc.array(fc.tuple(fc.nat(), fc.nat(9)), { maxLength: 3 });

function inPieces(text: string, [first, ...more]: readonly [number, number][]): Script['steps'] {
  if (!first) return [text];
  const at = first[0] % (text.length + 1);
  return [text.slice(0, at), first[1], ...inPieces(text.slice(at), more)];
}

/**
 * Connections of a client: valid, mutated, cut and pipelined requests in pieces, and other bytes in place of TLS.
 *
 * @param isTls whether the service uses TLS
 */
export function scripts(token: string, isTls: boolean): Arbitrary<Script> {
  const way = fc.record({
    tls: isTls ? pick(['TLSv1.2', 'TLSv1.3'] as const) : fc.constant(undefined),
    isHasty: once(10),
    isRead: once(4).map((isNot) => !isNot),
    end: pick(['fin', 'reset', 'close'] as const),
    idle: pick([0, 1, 5, 20, 100]),
  });

  /** What a connection may have in progress: a valid request, and the last one behind it. */
  const request = OWN_IDS.chain((id) => pick(validRequests(token, id, REFUSED)));
  const valid = fc
    .tuple(way, request, pausesInside)
    .map(([own, [text, status], pauses]): Script => {
      // A page ends its connection.
      const expected = text.startsWith('GET') && status === 200 ? [status] : [status, 404];
      const steps = inPieces(text + LAST, pauses);
      return { ...own, steps, isRead: true, end: 'close', idle: 10_000, expected };
    });

  /** A text, perhaps cut off, in pieces. */
  const of = (text: Arbitrary<string>, changes: Partial<Script> = {}): Arbitrary<Script> =>
    fc
      .tuple(way, text, fc.option(fc.nat(), { freq: 2 }), pausesInside)
      .map(([own, whole, cut, pauses]) => {
        const sent = whole.slice(0, (cut ?? whole.length) % (whole.length + 1));
        const steps = inPieces(sent, pauses);
        return { ...own, steps, expected: [], ...changes };
      });
  const texts = validRequests(token, 9n, 'n').map(([each]) => each);
  const any = fc.array(fc.oneof(wildRequest(token), pick(texts)), { minLength: 1, maxLength: 8 });
  const garbage = mutate(fc.oneof(fc.constant(CLIENT_HELLO), bytes(300)));
  return fc.oneof(
    { weight: 50, arbitrary: valid },
    { weight: 100, arbitrary: of(mutate(any.map((all) => all.join('')))) },
    { weight: isTls ? 30 : 0, arbitrary: of(garbage, { tls: undefined, isRead: false }) },
  );
}
