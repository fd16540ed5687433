import { isIPv6 } from 'node:net';

/** Formats the host and the port of a URL: an IPv6 address stands in brackets (RFC 3986, section 3.2.2). */
export function formatAuthority(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
