import type { Engine } from './engine.js';
import { postgres } from './postgres.js';
import { sqlite } from './sqlite.js';

/** The one switch on the engine: what a `DATABASE_URL` names by its scheme. */
export function engineOf(url: string): Engine {
  if (url.startsWith('sqlite:')) return sqlite;
  if (/^postgres(ql)?:/.test(url)) return postgres;
  throw new Error('DATABASE_URL names no engine');
}
