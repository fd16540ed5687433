import fc, { type Arbitrary } from 'fast-check';
import { requestText } from '../../test/support/raw-connection.js';

export const pick = <Item>(items: readonly Item[]): Arbitrary<Item> => fc.constantFrom(...items);
export const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nhost: a\r\n${more}\r\n`;

/** A body in chunks that is larger than the limit. */
const LARGE = `${`ffff\r\n${'x'.repeat(0xffff)}\r\n`.repeat(5)}0\r\n\r\n`;

/** The name of plants that must not be stored. */
export const REFUSED = 'refused';

/**
 * Requests that any client might send, with the statuses of their responses.
 *
 * @param ids of creates
 * @param name of the plants of refused requests
 */
export function validRequest(
  token: string,
  ids: Arbitrary<bigint>,
  name: string,
): Arbitrary<readonly [text: string, status: number]> {
  const type = { 'content-type': 'application/json' };
  const valid = { ...type, authorization: `Bearer ${token}` };
  const asked = pick([valid, { ...valid, expect: '100-continue' }]);
  const create = fc
    .tuple(asked, ids)
    .map(([headers, id]) => [requestText(headers, `{"id":${id},"name":"n"}`), 200] as const);
  const plant = `{"id":9,"name":"${name}"}`;
  const others = pick([
    [requestText(valid).replace('content-length: 0', 'transfer-encoding: chunked') + LARGE, 400],
    [requestText(valid, '{'), 400],
    [requestText({ ...valid, 'content-type': 'a' }, plant), 400],
    [requestText(type, plant), 401],
    [requestText({ ...valid, authorization: `Bearer ${token}a` }, plant), 401],
    [get('/plants'), 405],
    [get('/nowhere'), 404],
    [get('/openapi.json'), 200],
    [get('/docs/'), 200],
  ] as const);
  return fc.oneof({ weight: 1, arbitrary: create }, { weight: 4, arbitrary: others });
}

/** What ends a connection, its status if nothing is in progress, and whether that must come. */
export const ENDS = [
  [get('/nowhere', 'connection: close\r\n'), 404, 1],
  [get('/nowhere', 'connection: upgrade\r\nupgrade: websocket\r\n'), 404, 1],
  ['CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n', 400, 0],
  ['\0\0', 400, 0],
] as const;
