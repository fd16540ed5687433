import { ERRORS } from '../../src/errors/errors.js';
import { conforms } from '../../test/support/received.js';
import { parseHead } from '../../test/support/raw-connection.js';
import type { Script } from './script.js';

const OVERLOADED: number = ERRORS.OVERLOADED.error;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body; that of an answer to HEAD is not sent. */
  readonly text: string | undefined;
}

/** What a client alone can cause; and of the service's own errors, that it has too much to do. */
const EXPECTED = new Set(
  Object.values(ERRORS)
    .filter(
      ({ status, error }) => [400, 401, 404, 405, 501].includes(status) || error === OVERLOADED,
    )
    .map(({ status, error }) => `${status} ${error}`),
);
/** What else the document and its page are answered with. */
const STATIC = new Set([200, 206, 301, 304]);

/**
 * Holds all that came on a connection against the interface.
 *
 * @returns the statuses of the answers
 * @throws Error which says what is wrong
 */
export function judge({ expected, due }: Script, received: Buffer): number[] {
  const answers = parse(received);
  for (const answer of answers) check(answer);
  const statuses = answers.map(({ status }) => status);
  const isOther = (status: number, i: number): boolean => {
    const got = statuses[i] ?? (i < due ? undefined : status);
    return got !== status && got !== ERRORS.OVERLOADED.status;
  };
  const wrong = expected.findIndex(isOther);
  if (wrong < 0) return statuses;
  throw new Error(`answer ${wrong} is ${statuses[wrong]} and not ${expected[wrong]}`);
}

function check({ status, headers, text }: Answer): void {
  if (status < 400) {
    if (!STATIC.has(status)) throw new Error(`the status is ${status}`);
    return;
  }
  // Paths that the document does not have answer 404 and 405.
  const path = status === 404 || status === 405 ? '/' : '/plants';
  if (text === undefined) return;
  conforms({ method: 'POST', path, status, headers: new Headers(headers), text });
  const { error } = JSON.parse(text) as { error: number };
  if (!EXPECTED.has(`${status} ${error}`)) throw new Error(`the answer is ${status} ${text}`);
}

/** The whole answers on a connection. Those to HEAD have no body, whatever their length says. */
function parse(received: Buffer): Answer[] {
  const answers: Answer[] = [];
  for (let at = 0; at < received.length;) {
    const end = received.indexOf('\r\n\r\n', at);
    const head = received.toString('latin1', at, end < 0 ? received.length : end);
    if (!'HTTP/1.1 '.startsWith(head.slice(0, 9)))
      throw new Error(`not HTTP: ${head.slice(0, 200)}`);
    if (end < 0) break;
    const { status, headers } = parseHead(head);
    const usual = status < 200 || status === 304 ? 0 : NaN;
    const length = Number(headers['content-length'] ?? usual);
    if (Number.isNaN(length)) throw new Error(`no length: ${head}`);
    const start = end + 4;
    const isBare = length > 0 && received.toString('latin1', start, start + 9) === 'HTTP/1.1 ';
    at = isBare ? start : start + length;
    if (at > received.length) break;
    const text = isBare ? undefined : received.toString('utf8', start, at);
    if (status >= 200) answers.push({ status, headers, text });
  }
  return answers;
}
