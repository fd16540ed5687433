import fc, { type Arbitrary } from 'fast-check';
import { MAX_PIPELINED } from '../../src/http/connections.js';
import { CLIENT_HELLO } from './crowd.js';
import { BODIES, CHUNKS, DICTIONARY, HEADERS, METHODS, TARGETS, VERSIONS } from './parts.js';
import { ENDS, get, pick, REFUSED, validRequest } from './valid-requests.js';

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
  /** How many of the expected responses must come. */
  readonly due: number;
}

type Way = Pick<Script, 'tls' | 'isHasty' | 'isRead' | 'end' | 'idle'>;

/** Milliseconds for a flood to reach the service before the end, which discards unsent bytes. */
const FLOOD_MS = 100;
const FLOOD = ['/docs/swagger-ui-bundle.js', '/docs/', '/openapi.json', '/plants', '/nowhere'];

/** True once in `times`; shrinks to false. */
const once = (times: number) => fc.nat(times - 1).map((n) => n === times - 1);
const bytes = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((some) => Buffer.from(some).toString('latin1'));

/** Replaces some of a text, or nothing, by another text, or repeats it. The place is taken modulo the length. */
const mutation = fc.tuple(
  fc.nat(),
  fc.oneof(fc.nat(1), fc.nat(15), fc.nat(199)),
  fc.oneof(pick(['', undefined]), pick(DICTIONARY), bytes(1), bytes(200)),
);

function mutate(text: Arbitrary<string>): Arbitrary<string> {
  const mutations = fc.array(mutation, { maxLength: 4 });
  return fc.tuple(text, mutations).map(([whole, changes]) =>
    changes.reduce((result, [place, length, insertion]) => {
      const at = place % (result.length + 1);
      const to = at + length;
      return result.slice(0, at) + (insertion ?? result.slice(at, to).repeat(2)) + result.slice(to);
    }, whole),
  );
}

/** Places and milliseconds of pauses within a text, if any. Places are taken modulo the length. */
const pausesInside = fc.oneof(
  fc.constant([]),
  fc.array(fc.tuple(fc.nat(), fc.nat(9)), { minLength: 1, maxLength: 3 }),
);
/** Where a text is cut off, if it is. */
const cutOff = fc.option(fc.nat(), { freq: 2 });

function inPieces(text: string, [first, ...more]: readonly [number, number][]): Script['steps'] {
  if (!first) return [text];
  const at = first[0] % (text.length + 1);
  return [text.slice(0, at), first[1], ...inPieces(text.slice(at), more)];
}

/** Ids that mutated requests do not have: a plant of such an id always has the same content. */
const OWN_IDS = fc.bigInt({ min: -(2n ** 50n), max: -(2n ** 49n) });

/**
 * Pipelined valid requests, and what ends the connection.
 *
 * Over TLS not all responses must come: Node takes bytes after a pause of its own for a fault
 * (HPE_PAUSED; `https` of 20.20, 24.21 and 26.10), and the connection is closed or stalls.
 */
function validScript(way: Arbitrary<Way>, token: string): Arbitrary<Script> {
  const request = validRequest(token, OWN_IDS, REFUSED);
  const few = fc.array(request, { minLength: 1, maxLength: 6 });
  const many = fc.array(request, { minLength: 1, maxLength: 300, size: 'max' });
  const requests = fc.oneof({ weight: 39, arbitrary: few }, { weight: 1, arbitrary: many });
  const all = fc.tuple(way, requests, pick(ENDS), pausesInside);
  return all.map(([own, list, [last, status, due], pauses]) => {
    const text = list.map(([each]) => each).join('');
    const areAllDue = own.tls === undefined || list.length === 1;
    return {
      ...own,
      steps: inPieces(text + last, pauses),
      isRead: true,
      end: 'close',
      idle: areAllDue ? 10_000 : 500,
      expected: [...list.map(([, wanted]) => wanted), status],
      // One more in progress ends the connection, and with it responses that are on their way.
      due: areAllDue && list.length < MAX_PIPELINED ? list.length + due : 0,
    };
  });
}

/** A request of parts that need not fit together. */
function wildRequest(token: string): Arbitrary<string> {
  const body = fc.oneof(
    { weight: 3, arbitrary: pick(BODIES) },
    { weight: 1, arbitrary: pick(CHUNKS) },
  );
  const start = fc.tuple(pick(METHODS), pick(TARGETS), pick(VERSIONS));
  // Half of them lack one of the usual four headers.
  const headers = fc.record({
    missing: fc.nat(7),
    more: fc.array(pick(HEADERS), { maxLength: 2 }),
  });
  return fc.tuple(start, headers, body).map(([line, { missing, more }, content]) => {
    const usual = [
      'Host: localhost',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      CHUNKS.includes(content) ? 'Transfer-Encoding: chunked' : `Content-Length: ${content.length}`,
    ].filter((_, i) => i !== missing);
    return `${[line.join(' '), ...usual, ...more].join('\r\n')}\r\n\r\n${content}`;
  });
}

/**
 * Connections of a client: valid, mutated, cut and pipelined requests in pieces, floods, and other bytes in place of TLS.
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
  const of = (text: Arbitrary<string>, changes: Partial<Script> = {}): Arbitrary<Script> =>
    fc.tuple(way, text, cutOff, pausesInside).map(([own, whole, cut, pauses]) => {
      const sent = whole.slice(0, (cut ?? whole.length) % (whole.length + 1));
      return { ...own, steps: inPieces(sent, pauses), expected: [], due: 0, ...changes };
    });
  const request = fc.oneof(
    wildRequest(token),
    validRequest(token, fc.constant(9n), 'n').map(([text]) => text),
  );
  const pipelined = fc.array(request, { minLength: 1, maxLength: 8 }).map((all) => all.join(''));
  const flood = fc
    .tuple(pick(FLOOD), fc.oneof(fc.nat(19), fc.nat(299), fc.nat(999)))
    .map(([path, more]) => get(path).repeat(1 + more));
  const garbage = mutate(fc.oneof(fc.constant(CLIENT_HELLO), bytes(300)));
  return fc.oneof(
    { weight: 50, arbitrary: validScript(way, token) },
    { weight: 100, arbitrary: of(mutate(pipelined)) },
    { weight: 1, arbitrary: of(flood, { isRead: false, idle: FLOOD_MS }) },
    { weight: isTls ? 30 : 0, arbitrary: of(garbage, { tls: undefined, isRead: false }) },
  );
}
