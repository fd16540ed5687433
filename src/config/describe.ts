import { resolve } from 'node:path';
import { VERSION, type Config } from './config.js';

const MASK = '***';

/** A URL has no user without a host. This host stands for the socket of this machine. */
const NO_HOST = 'no-host.invalid';

/** What this process is and which store it works on, in one line for the operator, without a password. */
export function describeProcess({ databaseUrl }: Config): string {
  const node = process.versions.node;
  return `plant-store ${VERSION}, Node.js ${node}, store: ${describeStore(databaseUrl)}`;
}

/**
 * Where a store is, for the operator: the absolute path of its file, or host and database; never a user or a
 * password.
 *
 * @param address as in DATABASE_URL
 */
export function describeStore(address: string): string {
  if (address.startsWith('sqlite:')) return `SQLite ${resolve(address.slice('sqlite:'.length))}`;
  const url = parsePostgresUrl(address);
  if (!url) return 'PostgreSQL';
  const { host, port, database } = Object.fromEntries(url.searchParams);
  const named = url.hostname === NO_HOST ? '' : decodeURIComponent(url.hostname);
  const at = host ?? (named || (process.env.PGHOST ?? 'localhost'));
  const behind = port ?? url.port;
  const name = database ?? decodeURIComponent(url.pathname.slice(1));
  return `PostgreSQL ${at}${behind ? `:${behind}` : ''}, database ${name}`;
}

/**
 * A secret as it may be shown: the address of a store without its password, nothing of anything else. Lists of headers
 * are never taken for an address, as no header's name has a colon.
 */
export function maskSecret(text: string): string {
  if (text.startsWith('sqlite:')) return text;
  const url = parsePostgresUrl(text);
  if (!url) return MASK;
  if (url.password) url.password = MASK;
  for (const name of url.searchParams.keys()) {
    if (/password/i.test(name)) url.searchParams.set(name, MASK);
  }
  return url.href.replace(NO_HOST, '');
}

/**
 * Reads an address as the driver does. Undefined if it is no such URL, or a part of a password could be taken for
 * the database: `postgres://user:1/2@host/plants`.
 */
function parsePostgresUrl(address: string): URL | undefined {
  const url = URL.parse(address.replace(/@(?=[/?])/, `@${NO_HOST}`));
  return url && /^postgres/.test(url.protocol) && /^\/[^@]+$/.test(url.pathname) ? url : undefined;
}
