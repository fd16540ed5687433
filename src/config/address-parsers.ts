import { isIP } from 'node:net';
import { wholeNumber, type EnvParser } from './env-parsers.js';

/** What Express calls the networks that no packet of the internet comes from. */
const NETWORKS = ['loopback', 'linklocal', 'uniquelocal'];

/** An address that paths are put behind, so it has no slash at its end. */
export const baseUrl: EnvParser<string> = {
  parse: (value) => (httpUrl(value) ? value.replace(/\/$/, '') : undefined),
  must: 'must be an http or https URL, without credentials, query and fragment',
};

/** An address that secrets or keys come from: with TLS, but on this machine. */
export const secureUrl: EnvParser<string> = {
  parse: (value) => {
    const url = httpUrl(value);
    return url && isSecure(url) ? value : undefined;
  },
  must: 'must be an https URL (http on this machine alone), without credentials, query and fragment',
};

/** Origins (RFC 6454, section 7), commas between them. */
export const origins: EnvParser<readonly string[]> = {
  parse: listOf((origin) => httpUrl(origin)?.origin === origin),
  must: 'must be origins with commas between them, such as https://plants.example,https://a.example:8443',
};

/** The proxies in front: how many, or their addresses and networks, as Express takes them. */
export const proxies: EnvParser<number | readonly string[] | false> = {
  parse: (value) => (value === 'off' ? false : (wholeNumber(value, 1, 16) ?? networks(value))),
  must: 'must be off, the number of proxies, or their addresses, such as loopback,10.0.0.0/8',
  format: (value) => (value === false ? 'off' : String(value)),
};

/** Whether what comes from an address is what its owner sent: over TLS, or from this machine. */
export function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

function httpUrl(value: string): URL | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url && !url.username && !url.password && !/[?#\s]/.test(value);
  return isPlain && /^https?:$/.test(url.protocol) ? url : undefined;
}

function listOf(isItem: (item: string) => boolean): EnvParser<readonly string[]>['parse'] {
  return (value) => {
    const items = value.split(',').map((item) => item.trim());
    return items.every(isItem) ? items : undefined;
  };
}

const networks = listOf((item) => {
  const [address = '', prefix, ...more] = item.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)];
  if (bits === undefined) return NETWORKS.includes(item);
  return more.length === 0 && (prefix === undefined || wholeNumber(prefix, 1, bits) !== undefined);
});
