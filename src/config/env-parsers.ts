import { validateHeaderName, validateHeaderValue } from 'node:http';

/** Reads the text of a variable, and says what it must be. */
export interface EnvParser<Value> {
  /** The value, or undefined where the text is none. */
  readonly parse: (text: string) => Value | undefined;
  /** Follows the variable's name: `must be from 0 to 65535`. */
  readonly must: string;
  /** The text of a value, where that is not what String() makes of it. */
  format?(value: Value): string;
}

/** A number of requests in a time. */
export interface Rate {
  readonly requests: number;
  /** The time, in seconds. */
  readonly seconds: number;
}

const DURATION = /^([1-9]\d{0,4})([smhdw])$/;

const SECOND = 1_000;
/** The unit of a duration in milliseconds. */
const DURATION_UNITS: Readonly<Record<string, number>> = {
  s: SECOND,
  m: 60 * SECOND,
  h: 3_600 * SECOND,
  d: 86_400 * SECOND,
  w: 7 * 86_400 * SECOND,
};
/** The unit of a rate in seconds. */
const RATE_UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

/**
 * SQLite's driver would leave blanks at either end of the path out, and take another file; `sqlite://data/x` would
 * be `/data/x`.
 */
const SQLITE_URL = /^sqlite:(?!:memory:|\/\/[^/])\S(.*\S)?$/;

export const text: EnvParser<string> = { parse: (value) => value, must: 'must be a text' };

export const onOff: EnvParser<boolean> = {
  parse: (value) => (value === 'on' || value === 'off' ? value === 'on' : undefined),
  must: 'must be on or off',
  format: (value) => (value ? 'on' : 'off'),
};

export const port: EnvParser<number> = {
  parse: (value) => wholeNumber(value, 0, 65_535),
  must: 'must be from 0 to 65535',
};

/** A port, or `off` for none. */
export const portOrOff: EnvParser<number | 'off'> = {
  parse: (value) => (value === 'off' ? value : port.parse(value)),
  must: 'must be from 0 to 65535, or off',
};

/** `sqlite:` and a path, or the address of a PostgreSQL database. */
export const storeUrl: EnvParser<string> = {
  parse: (value) => (SQLITE_URL.test(value) || isPostgresUrl(value) ? value : undefined),
  must: 'must be sqlite: and the path of a file, or postgres://user:password@host/database',
};

/** A size in bytes, up to 1 MiB: a number, with `kb` or `mb` behind it if need be. */
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
    const requests = wholeNumber(number, 1, 1_000_000);
    const seconds = RATE_UNITS[unit];
    return requests === undefined || seconds === undefined ? undefined : { requests, seconds };
  },
  must: 'must be a number of requests up to 1000000 and a time, such as 200/s, 6000/m or 100000/h',
};

/** A scope-token (RFC 6749, section 3.3), which may stand in quotes in a header. */
export const scope: EnvParser<string> = {
  parse: (value) => (/^[\x21\x23-\x5B\x5D-\x7E]+$/.test(value) ? value : undefined),
  must: 'must be one scope: ASCII without blanks, quotes and backslashes',
};

/** A duration in milliseconds within bounds, which are milliseconds too. */
export function duration(min: number, max: number, example: string): EnvParser<number> {
  return {
    parse: (value) => {
      const milliseconds = value === '0s' ? 0 : (parseDuration(value) ?? Number.NaN);
      return milliseconds >= min && milliseconds <= max ? milliseconds : undefined;
    },
    must: `must be a duration from ${min / SECOND}s to ${max / SECOND}s, such as ${example}`,
    format: (milliseconds) => `${milliseconds / SECOND}s`,
  };
}

/** Whether the driver can read it: a `%` that is meant as one is `%25`. */
function isPostgresUrl(value: string): boolean {
  try {
    return /^postgres(ql)?:\/\/[^/]*\/[^/?]/.test(decodeURI(value));
  } catch {
    return false;
  }
}

/** One of a few words. */
export function oneOf<Word extends string>(...words: readonly Word[]): EnvParser<Word> {
  return {
    parse: (value) => words.find((word) => word === value),
    must: `must be one of ${words.join(', ')}`,
  };
}

const ENVIRONMENTS = oneOf('production', 'development', 'test');

/** What the service runs for; true is production. */
export const environment: EnvParser<boolean> = {
  parse: (value) => (ENVIRONMENTS.parse(value) ? value === 'production' : undefined),
  must: ENVIRONMENTS.must,
  format: (isProduction) => (isProduction ? 'production' : 'development'),
};

/** Decimal digits within bounds. */
export function wholeNumber(digits: string, min: number, max: number): number | undefined {
  const number = /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
}

/**
 * Reads a duration: a whole number from 1 to 99999 and its unit, `s`, `m`, `h`, `d` or `w`.
 *
 * @returns milliseconds, or undefined where the text is no duration
 */
export function parseDuration(text: string): number | undefined {
  const [, number, unit = ''] = DURATION.exec(text) ?? [];
  const milliseconds = Number(number) * (DURATION_UNITS[unit] ?? Number.NaN);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

/** Headers as OpenTelemetry's variables have them: percent-encoded values, commas between them. */
export const headerList: EnvParser<Readonly<Record<string, string>>> = {
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
