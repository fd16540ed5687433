import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Kind } from './kinds.js';

/** Headers as OpenTelemetry's variables have them: percent-encoded values, commas between them. */
export const headerList: Kind<Readonly<Record<string, string>>> = {
  parse: (value) => {
    try {
      return Object.fromEntries(value.split(',').map(readHeader));
    } catch {
      return undefined;
    }
  },
  must: 'must be headers with commas between them, such as authorization=Bearer%20abc,x-team=plants',
};

function readHeader(pair: string): [name: string, value: string] {
  const [name = '', ...rest] = pair.split('=');
  const header = [name.trim(), decodeURIComponent(rest.join('=').trim())] as const;
  validateHeaderName(header[0]);
  if (header[1] === '') throw new TypeError('a header without a value');
  validateHeaderValue(...header);
  return [...header];
}
