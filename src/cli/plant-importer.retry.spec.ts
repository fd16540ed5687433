/** @engine sqlite */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { importing, lines, run, startServers, stopping } from '../../test/cli/import-server.js';
import type { Listener } from '../../test/cli/import-server.js';
import { describeError } from '../errors/operator-message.js';

startServers();

interface Response {
  readonly status: number;
  readonly body: string;
  readonly headers?: Record<string, string>;
  /** Whether the connection breaks in the body. */
  readonly isCut?: true;
}

const PLANT = '{"id": 9007199254740993, "name": "Alder"}';
const STORED: Response = { status: 200, body: '{"name":"Alder"}' };
const UNAVAILABLE: Response = { status: 503, body: '{"error":5001,"message":"unavailable"}' };

describe('a response', () => {
  let sent: { readonly plant: string; readonly time: number }[];
  beforeEach(() => void (sent = []));

  /** Imports the plant; the last response is repeated. Resolves to its refusal, or why the import stopped. */
  async function send(responses: readonly Response[], tries = 3) {
    const respond: Listener = (plant, response, { socket }) => {
      sent.push({ plant, time: performance.now() });
      const next = responses[Math.min(sent.length, responses.length) - 1] ?? STORED;
      const length = next.body.length * (next.isCut ? 2 : 1);
      response.writeHead(next.status, { ...next.headers, 'content-length': length });
      response.write(next.body, () => (next.isCut ? socket.destroy() : response.end()));
    };
    return importing(lines(PLANT), respond, tries).then(
      ([refused]) => refused?.error ?? 'stored',
      (error: unknown) => describeError(error).replace('stopped at line 1: ', ''),
    );
  }

  it.each<Response>([
    UNAVAILABLE,
    { status: 408, body: '{"error":3004,"message":"late"}', headers: { connection: 'close' } },
    { status: 429, body: '{"error":4000,"message":"over the limit"}' },
    { status: 502, body: '<html>' },
    { ...STORED, isCut: true },
    { ...UNAVAILABLE, isCut: true },
  ])('that is not final has the same text sent again: %j', async (response) => {
    expect(await send([response, response, STORED])).toBe('stored');
    expect(sent.map(({ plant }) => plant)).toEqual([PLANT, PLANT, PLANT]);
    expect(run.tally).toMatchObject({ sent: 1, stored: 1 });
    expect(run.lastError).toBeUndefined();
  });

  it.each([
    ['seconds', () => '1'],
    ['a date', () => new Date(Date.now() + 2_000).toUTCString()],
  ])('with a Retry-After of %s is waited for', async (_form, write) => {
    const headers = { 'retry-after': write() };
    expect(await send([{ ...UNAVAILABLE, headers }, STORED])).toBe('stored');
    const [first, second] = sent;
    expect(Number(second?.time) - Number(first?.time)).toBeGreaterThan(990);
  });

  it.each(['99999999999', 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'with a Retry-After of %s is told as the reason to wait, which can be stopped',
    async (value) => {
      const ended = send([{ ...UNAVAILABLE, headers: { 'retry-after': value } }]);
      while (run.lastError === undefined) await new Promise(setImmediate);
      expect(run.lastError).toBe('after 601 s: error 5001: unavailable');
      stopping.abort(new Error('interrupted'));
      expect(await ended).toBe('interrupted');
      expect(sent).toHaveLength(1);
      expect(run.answeredLines).toBe(0);
    },
  );

  it.each<[string, Response[], RegExp]>([
    ['5xx', [{ status: 502, body: '<html>' }, UNAVAILABLE], /^error 5001: unavailable$/],
    ['too long', [{ status: 200, body: ' '.repeat(2 ** 21) }], /exceeded max size/],
  ])('that is %s each time stops the import after its tries', async (_what, each, reason) => {
    expect(await send(each, 2)).toMatch(reason);
    expect(sent).toHaveLength(2);
  });

  it.each([
    [403, '{"error":2002,"message":"\\u001b[2Jno"}', 'error 2002: \\u001b[2Jno'],
    [302, '', 'status 302, not from a plant store'],
    [404, '<html>', 'status 404, not from a plant store'],
    [400, 'Bad Request', 'status 400, not from a plant store'],
    [200, '{"id":1}', 'status 200, not from a plant store'],
    [200, 'null', 'status 200, not from a plant store'],
    [400, '{"error":1004,"message":"taken"}', 1004],
  ])('%i %s is final', async (status, body, outcome) => {
    expect(await send([{ status, body, headers: { location: '/elsewhere' } }])).toEqual(outcome);
    expect(sent).toHaveLength(1);
  });
});
