import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';

/** Reads the text of a variable, and says what it must be. */
export interface EnvParser<Value> {
  /** The value, or undefined if the text is invalid. */
  readonly parse: (text: string) => Value | undefined;
  /** Follows the variable's name: `must be from 0 to 65535`. */
  readonly must: string;
  /** The text of a value, where String() has another. */
  format?(value: Value): string;
  /** Whether the text is never shown as it is; it may also be in the file that `NAME_FILE` names. */
  readonly isSecret?: true;
}

/** A number of requests in a time. */
export interface Rate {
  readonly requests: number;
  readonly seconds: number;
}

/** The units of a duration, in milliseconds. */
const DURATION_UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/**
 * SQLite's driver would trim the path, and open another file than the one named. `sqlite://data/x` would be
 * `/data/x`.
 */
const SQLITE_URL = /^sqlite:(?!:memory:|\/\/[^/])\S(.*\S)?$/;

export const anyText: EnvParser<string> = { parse: (value) => value, must: 'must be a text' };

export const onOff: EnvParser<boolean> = {
  parse: (value) => (value === 'on' || value === 'off' ? value === 'on' : undefined),
  must: 'must be on or off',
  format: (value) => (value ? 'on' : 'off'),
};

export const port: EnvParser<number> = {
  parse: (value) => parseWholeNumber(value, 0, 65_535),
  must: 'must be from 0 to 65535',
};

export const portOrOff: EnvParser<number | 'off'> = {
  parse: (value) => (value === 'off' ? value : port.parse(value)),
  must: 'must be from 0 to 65535, or off',
};

/** `sqlite:` and a path, or the address of a PostgreSQL database, which may have a password. */
export const storeUrl: EnvParser<string> = {
  parse: (value) => (SQLITE_URL.test(value) || isPostgresUrl(value) ? value : undefined),
  must: 'must be sqlite: and the path of a file, or postgres://user:password@host/database',
  isSecret: true,
};

/** A size in bytes, up to 1 MiB: a number, and `kb` (KiB), `mb` (MiB) or nothing. */
export const size: EnvParser<number> = {
  parse: (value) => {
    const [, number, unit = ''] = /^(\d+)(kb|mb)?$/i.exec(value) ?? [];
    const bytes = Number(number) * ({ kb: 2 ** 10, mb: 2 ** 20 }[unit.toLowerCase()] ?? 1);
    return bytes >= 1 && bytes <= 2 ** 20 ? bytes : undefined;
  },
  must: 'must be a size up to 1mb, such as 64kb',
  format: (bytes) => (bytes % 2 ** 10 === 0 ? `${bytes / 2 ** 10}kb` : String(bytes)),
};

/** `200/s`, `6000/m`, `100000/h`. */
export const rate: EnvParser<Rate> = {
  parse: (value) => {
    const [, number = '', unit = ''] = /^(\d+)\/([smh])$/.exec(value) ?? [];
    const requests = parseWholeNumber(number, 1, 1_000_000);
    const milliseconds = DURATION_UNITS[unit];
    if (requests === undefined || milliseconds === undefined) return undefined;
    return { requests, seconds: milliseconds / 1_000 };
  },
  must: 'must be a number of requests up to 1000000 and a time, such as 200/s, 6000/m or 100000/h',
};

/** A scope-token (RFC 6749, section 3.3), which may stand in quotes in a header. */
export const scope: EnvParser<string> = {
  parse: (value) => (/^[\x21\x23-\x5B\x5D-\x7E]+$/.test(value) ? value : undefined),
  must: 'must be one scope: ASCII without blanks, quotes and backslashes',
};

/** Headers as OpenTelemetry's variables have them: percent-encoded values, comma-separated. */
export const headerList: EnvParser<Readonly<Record<string, string>>> = {
  parse: (value) => {
    try {
      return Object.fromEntries(value.split(',').map(parseHeader));
    } catch {
      return undefined;
    }
  },
  must: 'must be comma-separated headers, such as authorization=Bearer%20abc,x-team=plants',
  isSecret: true,
};

/** A URL that paths are appended to: a slash at its end is removed. */
export const baseUrl: EnvParser<string> = {
  parse: (value) => (parseHttpUrl(value) ? value.replace(/\/$/, '') : undefined),
  must: 'must be an http or https URL, without credentials, query and fragment',
};

/** A URL that tokens or keys come from: https, or http on this machine. */
export const secureUrl: EnvParser<string> = {
  parse: (value) => {
    const url = parseHttpUrl(value);
    return url && isSecure(url) ? value : undefined;
  },
  must: 'must be an https URL (http on this machine alone), without credentials, query and fragment',
};

/** Origins (RFC 6454, section 7), comma-separated. */
export const origins: EnvParser<readonly string[]> = {
  parse: (value) => parseList(value, (origin) => parseHttpUrl(origin)?.origin === origin),
  must: 'must be comma-separated origins, such as https://plants.example,https://a.example:8443',
};

/** The proxies in front of the service: how many, or their addresses and networks, as Express takes them. */
export const proxies: EnvParser<number | readonly string[] | false> = {
  parse: (value) => {
    if (value === 'off') return false;
    return parseWholeNumber(value, 1, 16) ?? parseList(value, isNetwork);
  },
  must: 'must be off, the number of proxies, or their addresses, such as loopback,10.0.0.0/8',
  format: (value) => (value === false ? 'off' : String(value)),
};

/** Makes the parser of a duration within bounds. Its value is in milliseconds. */
export function makeDurationParser(min: string, max: string): EnvParser<number> {
  const toMs = (text: string) => parseDuration(text) ?? Number.NaN;
  return {
    parse: (value) => {
      const milliseconds = toMs(value);
      return milliseconds >= toMs(min) && milliseconds <= toMs(max) ? milliseconds : undefined;
    },
    must: `must be a duration from ${min} to ${max}, such as 5s`,
    format: (milliseconds) => `${milliseconds / 1_000}s`,
  };
}

export function makeWordParser<Word extends string>(...words: readonly Word[]): EnvParser<Word> {
  return {
    parse: (value) => words.find((word) => word === value),
    must: `must be one of ${words.join(', ')}`,
  };
}

const environments = makeWordParser('production', 'development', 'test');

/** NODE_ENV. Only `production` is true. */
export const nodeEnv: EnvParser<boolean> = {
  parse: (value) => (environments.parse(value) ? value === 'production' : undefined),
  must: environments.must,
  format: (value) => (value ? 'production' : 'development'),
};

/**
 * Reads a duration: `0s`, or a whole number from 1 to 99999 and its unit, `s`, `m`, `h`, `d` or `w`.
 *
 * @returns milliseconds, or undefined if invalid
 */
export function parseDuration(text: string): number | undefined {
  const [, number, unit = ''] = /^(0(?=s)|[1-9]\d{0,4})([smhdw])$/.exec(text) ?? [];
  const unitMs = DURATION_UNITS[unit];
  return unitMs === undefined ? undefined : Number(number) * unitMs;
}

/** Whether nobody can change a URL's answer on its way: it is https, or on this machine. */
export function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/** Reads a whole number within bounds; undefined if it is none. */
export function parseWholeNumber(digits: string, min: number, max: number): number | undefined {
  const number = /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
}

function parseList(value: string, isItem: (item: string) => boolean): string[] | undefined {
  const items = value.split(',').map((item) => item.trim());
  return items.every(isItem) ? items : undefined;
}

function parseHttpUrl(value: string): URL | undefined {
  const url = URL.parse(value);
  const isPlain = url && !url.username && !url.password && !/[?#\s]/.test(value);
  return isPlain && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** Whether the driver can read it: a `%` must be written as `%25`. */
function isPostgresUrl(value: string): boolean {
  try {
    return /^postgres(ql)?:\/\/[^/]*\/[^/?]/.test(decodeURI(value));
  } catch {
    return false;
  }
}

/** An address, a network such as `10.0.0.0/8`, or Express's name for networks that are not of the internet. */
function isNetwork(item: string): boolean {
  if (/^(loopback|linklocal|uniquelocal)$/.test(item)) return true;
  const [address = '', prefix = '1', ...more] = item.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)];
  return bits !== undefined && parseWholeNumber(prefix, 1, bits) !== undefined && more.length === 0;
}

function parseHeader(pair: string): [name: string, value: string] {
  const [, name = '', value = ''] = /^\s*([^\s=]+)\s*=\s*(\S.*?)\s*$/.exec(pair) ?? [];
  const header: [name: string, value: string] = [name, decodeURIComponent(value)];
  validateHeaderName(name);
  validateHeaderValue(...header);
  return header;
}
