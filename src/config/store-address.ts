import { resolve } from 'node:path';

/** What stands for a secret. */
export const MASK = '***';

/** A URL has no user without a host: it stands for the socket of this machine. */
const NO_HOST = 'no-host.invalid';

/**
 * Where a store is, for the operator: the absolute path of its file, or host and database; never a user or a
 * password.
 *
 * @param address as in DATABASE_URL
 */
export function describeStore(address: string): string {
  if (address.startsWith('sqlite:')) return `SQLite ${resolve(address.slice('sqlite:'.length))}`;
  const url = parsePostgres(address);
  if (!url) return 'PostgreSQL';
  const { host, port, database } = Object.fromEntries(url.searchParams);
  const named = url.hostname === NO_HOST ? '' : decodeURIComponent(url.hostname);
  const at = host ?? (named || (process.env.PGHOST ?? 'localhost'));
  const behind = port ?? url.port;
  const name = database ?? decodeURIComponent(url.pathname.slice(1));
  return `PostgreSQL ${at}${behind ? `:${behind}` : ''}, database ${name}`;
}

/** An address as it is, but for its password. */
export function maskPassword(address: string): string {
  if (address.startsWith('sqlite:')) return address;
  const url = parsePostgres(address);
  if (!url) return MASK;
  if (url.password) url.password = MASK;
  for (const name of url.searchParams.keys()) {
    if (/password/i.test(name)) url.searchParams.set(name, MASK);
  }
  return url.href.replace(NO_HOST, '');
}

/**
 * Reads an address as the driver does; undefined where no URL is, or a part of a password could be taken for the
 * database: `postgres://user:1/2@host/plants`.
 */
function parsePostgres(address: string): URL | undefined {
  const url = URL.parse(address.replace(/@(?=[/?])/, `@${NO_HOST}`));
  if (!url || !/^\/[^@]+$/.test(url.pathname)) return undefined;
  return url;
}
