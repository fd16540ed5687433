import { MAX_UNTRUSTED } from '../../src/http/connection.js';
import { knownRequest, mutate, wildRequest, type KnownRequest } from './messages.js';
import type { Random } from '../random.js';

/** What one connection does. */
export interface Script {
  /** Whether the client speaks TLS, and how; bytes go as they are otherwise. */
  readonly tls: { readonly maxVersion: 'TLSv1.2' | 'TLSv1.3' } | undefined;
  /** Whether it sends before it is connected, or has agreed on TLS. */
  readonly isHasty: boolean;
  /** What it sends, and pauses in milliseconds. */
  readonly steps: readonly (string | number)[];
  readonly isRead: boolean;
  /** How it ends: by FIN, by a reset, or both sides at once; after so many milliseconds without a byte. */
  readonly end: 'fin' | 'reset' | 'close';
  readonly idle: number;
  /** The statuses of the first answers, where they are known. */
  readonly expected: readonly number[];
  /** How many of these must come; the service then closes the connection where there are any. */
  readonly due: number;
}

/** What the scripts of a service need. */
export interface Target {
  readonly token: string;
  /** A TLS client's first bytes, where the service speaks TLS. */
  readonly clientHello: string | undefined;
}

/** Requests at once on one connection, at most. */
const PIPELINE = 300;
/** Milliseconds. */
const IDLE = [0, 1, 5, 20, 100] as const;
/** Milliseconds in which a flood reaches the service: an end at once would throw it away unsent. */
const FLOOD_IDLE = 100;
const FLOOD = ['/docs/swagger-ui-bundle.js', '/docs/', '/openapi.json', '/plants', '/nowhere'];

/** The script of a connection: valid requests, others, half of them, or none that are read. */
export function scriptOf(random: Random, target: Target, index: number): Script {
  const { clientHello } = target;
  const isTls = clientHello !== undefined && !random.once(6);
  const tls = isTls ? { maxVersion: random.pick(['TLSv1.2', 'TLSv1.3'] as const) } : undefined;
  const way = {
    tls,
    isHasty: random.once(10),
    isRead: !random.once(4),
    end: random.pick(['fin', 'reset', 'close'] as const),
    idle: random.pick(IDLE),
    expected: [],
    due: 0,
  };
  if (clientHello !== undefined && !isTls) {
    const hello = random.pick([clientHello, mutate(random, clientHello), random.bytes(300)]);
    return { ...way, steps: split(random, cut(random, hello)), isRead: false };
  }
  if (random.once(150)) return { ...way, steps: [flood(random)], isRead: false, idle: FLOOD_IDLE };
  if (random.once(3)) return { ...way, ...known(random, target.token, index, isTls) };
  const requests = Array.from({ length: 1 + random.below(random.pick([1, 1, 1, 8])) }, () =>
    random.once(2)
      ? wildRequest(random, target.token)
      : knownRequest(random, target.token, '9').text,
  );
  const text = random.once(3) ? requests.join('') : mutate(random, requests.join(''));
  return { ...way, steps: split(random, random.once(3) ? cut(random, text) : text) };
}

type Changes = Pick<Script, 'steps'> & Partial<Script>;

/**
 * Valid requests one behind the other, the last of which ends the connection; or a part of them.
 *
 * Over TLS not all answers are demanded: Node takes what comes behind a pause of its own for a fault
 * (HPE_PAUSED; `https` of 20.20, 24.21 and 26.10), and the connection is closed, or stands still.
 */
function known(random: Random, token: string, index: number, isTls: boolean): Changes {
  const count = 1 + random.below(random.once(40) ? PIPELINE : random.pick([1, 1, 1, 6]));
  const requests = Array.from({ length: count }, (_, i) =>
    knownRequest(random, token, `-1${index}${i + 1_000}`),
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
    steps: split(random, `${text}GET /nowhere HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`),
    end: 'close',
    idle: isWhole ? 30_000 : 500,
    expected: [...requests.map(({ status }) => status), 404],
    due: isWhole ? dueOf(requests) : 0,
  };
}

/** Answers that come however fast the requests do: behind a page, a refusal without a token, or many the connection ends. */
function dueOf(requests: readonly KnownRequest[]): number {
  const last = requests.findIndex(({ hasToken }) => !hasToken);
  return Math.min(last < 0 ? requests.length + 1 : last + 1, MAX_UNTRUSTED);
}

/** One request very often; who asks does not read. */
function flood(random: Random): string {
  const count = 1 + random.below(random.pick([20, 300, 1_000]));
  return `GET ${random.pick(FLOOD)} HTTP/1.1\r\nhost: a\r\n\r\n`.repeat(count);
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
