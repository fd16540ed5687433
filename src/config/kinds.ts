import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { parseDuration } from '../duration.js';

/** What the text of a variable may be: how it is read, and what the operator is told where it is not. */
export interface Kind<Value> {
  /** The value, or undefined where the text is none. */
  readonly parse: (text: string) => Value | undefined;
  /** Follows the variable's name: `must be from 0 to 65535`. */
  readonly must: string;
}

/** A number of requests in a time. */
export interface Rate {
  readonly requests: number;
  /** The time, in seconds. */
  readonly seconds: number;
}

const SECOND = 1_000;
/** Processes of one service at the most. */
const MOST_WORKERS = 256;
/** The unit of a rate in seconds. */
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };
/** What Express calls the networks that no packet of the internet comes from. */
const NETWORKS = ['loopback', 'linklocal', 'uniquelocal'];

export const text: Kind<string> = { parse: (value) => value, must: 'must be a text' };

export const onOff: Kind<boolean> = {
  parse: (value) => (value === 'on' || value === 'off' ? value === 'on' : undefined),
  must: 'must be on or off',
};

export const port: Kind<number> = {
  parse: (value) => wholeNumber(value, 0, 65_535),
  must: 'must be from 0 to 65535',
};

/** A port, or `off` for none. */
export const portOrOff: Kind<number | 'off'> = {
  parse: (value) => (value === 'off' ? value : port.parse(value)),
  must: 'must be from 0 to 65535, or off',
};

/** `sqlite:` and a path, or the address of a PostgreSQL database. */
export const storeUrl: Kind<string> = {
  parse: (value) =>
    /^(sqlite:(?!:memory:).|postgres(ql)?:\/\/[^/]*\/[^/?])/.test(value) ? value : undefined,
  must: 'must be sqlite: and the path of a file, or postgres://user:password@host/database',
};

/** A number of processes; `auto` is as many as there are cores for us. */
export const workers: Kind<number> = {
  parse: (value) =>
    value === 'auto'
      ? Math.min(availableParallelism(), MOST_WORKERS)
      : wholeNumber(value, 1, MOST_WORKERS),
  must: `must be a whole number from 1 to ${MOST_WORKERS}, or auto`,
};

/** A size in bytes, up to 1 MiB: a number, with `kb` or `mb` behind it if need be. */
export const size: Kind<number> = {
  parse: (value) => {
    const [, number, unit = ''] = /^(\d+)(kb|mb)?$/i.exec(value) ?? [];
    const bytes = Number(number) * ({ kb: 2 ** 10, mb: 2 ** 20 }[unit.toLowerCase()] ?? 1);
    return bytes >= 1 && bytes <= 2 ** 20 ? bytes : undefined;
  },
  must: 'must be a size up to 1mb, such as 64kb',
};

/** `200/s`, `6000/m`, `100000/h`. */
export const rate: Kind<Rate> = {
  parse: (value) => {
    const [, number = '', unit = ''] = /^(\d+)\/([smh])$/.exec(value) ?? [];
    const requests = wholeNumber(number, 1, 1_000_000);
    const seconds = UNITS[unit];
    return requests === undefined || seconds === undefined ? undefined : { requests, seconds };
  },
  must: 'must be a number of requests up to 1000000 and a time, such as 200/s, 6000/m or 100000/h',
};

/** An address that paths are put behind, so it has no slash at its end. */
export const baseUrl: Kind<string> = {
  parse: (value) => (httpUrl(value) ? value.replace(/\/$/, '') : undefined),
  must: 'must be an http or https URL, without credentials, query and fragment',
};

/** An address that secrets or keys come from: with TLS, but on this machine. */
export const secureUrl: Kind<string> = {
  parse: (value) => {
    const url = httpUrl(value);
    return url && isSecure(url) ? value : undefined;
  },
  must: 'must be an https URL (http on this machine alone), without credentials, query and fragment',
};

/** A scope-token (RFC 6749, section 3.3), which may stand in quotes in a header. */
export const scope: Kind<string> = {
  parse: (value) => (/^[\x21\x23-\x5B\x5D-\x7E]+$/.test(value) ? value : undefined),
  must: 'must be one scope: ASCII without blanks, quotes and backslashes',
};

/** Origins (RFC 6454, section 7), commas between them. */
export const origins: Kind<readonly string[]> = {
  parse: listOf((origin) => httpUrl(origin)?.origin === origin),
  must: 'must be origins with commas between them, such as https://plants.example,https://a.example:8443',
};

/** The proxies in front: how many, or their addresses and networks, as Express takes them. */
export const proxies: Kind<number | readonly string[] | false> = {
  parse: (value) => (value === 'off' ? false : (wholeNumber(value, 1, 16) ?? networks(value))),
  must: 'must be off, the number of proxies, or their addresses, such as loopback,10.0.0.0/8',
};

/** Whether what comes from an address is what its owner sent: over TLS, or from this machine. */
export function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/** A duration in milliseconds within bounds, which are milliseconds too. */
export function duration(min: number, max: number, example: string): Kind<number> {
  return {
    parse: (value) => {
      const milliseconds = value === '0s' ? 0 : (parseDuration(value) ?? Number.NaN);
      return milliseconds >= min && milliseconds <= max ? milliseconds : undefined;
    },
    must: `must be a duration from ${min / SECOND}s to ${max / SECOND}s, such as ${example}`,
  };
}

/** One of a few words. */
export function oneOf<Word extends string>(...words: readonly Word[]): Kind<Word> {
  return {
    parse: (value) => words.find((word) => word === value),
    must: `must be one of ${words.join(', ')}`,
  };
}

function wholeNumber(digits: string, min: number, max: number): number | undefined {
  const number = /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
}

function httpUrl(value: string): URL | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url && !url.username && !url.password && !/[?#\s]/.test(value);
  return isPlain && /^https?:$/.test(url.protocol) ? url : undefined;
}

function listOf(isItem: (item: string) => boolean): Kind<readonly string[]>['parse'] {
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
