// Parsers of the texts of variables; database-url.ts has another.
import { isIP } from 'node:net';
import os from 'node:os';

/** Reads the text of a variable, and says what the text must be. */
export interface EnvParser<Value> {
  /** Follows `must be`: `from 0 to 65535`. */
  readonly rule: string;
  /** Returns undefined if the text is invalid. */
  readonly parse: (text: string) => Value | undefined;
  /** Makes what is shown of a secret, which may also be in the file that `NAME_FILE` names. */
  readonly mask?: (text: string) => string;
  /** Finds a problem that deserves a message of its own. */
  findProblem?(value: Value): string | undefined;
}

/** What is shown of a secret. */
export const MASK = '***';

const UNIT_MS = new Map(Object.entries({ s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 }));

function makeParser<Value>(rule: string, parse: EnvParser<Value>['parse']): EnvParser<Value> {
  return { rule, parse };
}

export const anyText = makeParser('a text', (text) => text);
/** `::` stands for all addresses of the machine. Where none is of IPv6, it could not listen on `::`. */
export const host = makeParser('a host name or an IP address, without a port', (text) => {
  if (text === '::' && !hasIPv6()) return '0.0.0.0';
  return isIP(text) || /^[\w.-]+$/.test(text) ? text : undefined;
});

function hasIPv6(): boolean {
  const addresses = Object.values(os.networkInterfaces()).flat();
  return addresses.some((address) => address?.family === 'IPv6');
}

export const port = makeParser('from 0 to 65535', (text) => parseWholeNumber(text, 0, 65_535));
export const portOrOff = makeParser('from 0 to 65535, or off', (text) =>
  text === 'off' ? text : port.parse(text),
);

export const logLevel = oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace');
export const onOff = makeFlagParser('on', 'off');
export const nodeEnv = makeFlagParser('production', 'development', 'test');

export const rate = makeParser(
  'a number of requests up to 1000000 and a time, such as 200/s, 6000/m or 100000/h',
  (text) => {
    const [, digits = '', unit = ''] = /^(\d+)\/([smh])$/.exec(text) ?? [];
    const requests = parseWholeNumber(digits, 1, 1_000_000);
    const intervalMs = UNIT_MS.get(unit);
    return requests && intervalMs ? { requests, seconds: intervalMs / 1_000 } : undefined;
  },
);

/** A scope-token (RFC 6749, section 3.3), which may stand in quotes in a header. */
export const scope = makeParser(
  'one scope: ASCII without blanks, quotes and backslashes',
  (text) => (/^[\x21\x23-\x5B\x5D-\x7E]+$/.test(text) ? text : undefined),
);

/** Reads a URL to which paths are appended: a slash at its end is removed. */
export const baseUrl = makeParser(
  'an http or https URL, without credentials, query and fragment',
  (text) => (parseHttpUrl(text) ? text.replace(/\/$/, '') : undefined),
);

/** A URL that tokens or keys come from. */
export const secureUrl = makeParser(
  'an https URL (http on this machine alone), without credentials, query and fragment',
  (text) => (isSecure(parseHttpUrl(text)) ? text : undefined),
);

/** Reads origins as a browser sends them (RFC 6454, section 7). */
export const origins = makeParser(
  'comma-separated origins, such as https://plants.example,https://a.example:8443',
  (text) => parseList(text, (origin) => parseHttpUrl(origin)?.origin === origin),
);

/** Reads proxies, which Express takes as they are. */
export const proxies = makeParser(
  'off, the number of proxies, or their addresses, such as loopback,10.0.0.0/8',
  (text) => text !== 'off' && (parseWholeNumber(text, 1, 16) ?? parseList(text, isNetwork)),
);

/** Makes the parser of a duration within bounds. Its value is in milliseconds. */
export function duration(min: string, max: string): EnvParser<number> {
  const [from = 0, to = 0] = [min, max].map(parseDuration);
  return makeParser(`a duration in s, m, h, d or w, from ${min} to ${max}, such as 5s`, (text) =>
    within(parseDuration(text), from, to),
  );
}

export function oneOf<Word extends string>(...words: readonly Word[]): EnvParser<Word> {
  return makeParser(`one of ${words.join(', ')}`, (text) => words.find((word) => word === text));
}

/** Makes the parser of a word that stands for true, and of others that stand for false. */
function makeFlagParser(yes: string, ...no: readonly string[]): EnvParser<boolean> {
  const { rule } = oneOf(yes, ...no);
  return makeParser(rule, (text) => text === yes || (no.includes(text) ? false : undefined));
}

/** Reads a duration in milliseconds: `0s`, or a whole number from 1 to 99999 and its unit; undefined if invalid. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit = ''] = /^(0(?=s)|[1-9]\d{0,4})([smhdw])$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (UNIT_MS.get(unit) ?? 0);
}

/** Whether tokens and keys may come from a URL: by https, or from localhost. */
export function isSecure(url: URL | undefined): boolean {
  const local = /^(localhost|127(\.\d+){3}|\[::1\])$/;
  return url !== undefined && (url.protocol === 'https:' || local.test(url.hostname));
}

/** Reads a whole number within bounds; undefined if invalid. */
function parseWholeNumber(digits: string, min: number, max: number): number | undefined {
  return within(/^\d+$/.test(digits) ? Number(digits) : undefined, min, max);
}

function within(number = Number.NaN, min: number, max: number): number | undefined {
  return number >= min && number <= max ? number : undefined;
}

function parseList(text: string, isItem: (item: string) => boolean): string[] | undefined {
  const items = text.split(',').map((item) => item.trim());
  return items.every(isItem) ? items : undefined;
}

/** Reads an http or https URL without credentials, query and fragment; undefined if invalid. */
function parseHttpUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  // The URL Standard allows characters in a host that no name has, such as `*`.
  const isNamed = url && /^([\w.-]+|\[[\da-f:]+\])$/.test(url.hostname);
  const isPlain = isNamed && !url.username && !url.password && !/[?#\s]/.test(text);
  return isPlain && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** An address, a network such as `10.0.0.0/8`, or Express's name for networks that are not of the internet. */
function isNetwork(item: string): boolean {
  if (/^(loopback|linklocal|uniquelocal)$/.test(item)) return true;
  const [address = '', prefix = '1', ...more] = item.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)] ?? 0;
  return parseWholeNumber(prefix, 1, bits) !== undefined && more.length === 0;
}
