import { getSystemErrorMessage } from 'node:util';
import { ConfigError } from '../config/environment.js';
import { StoreUnavailable } from './errors.js';

/**
 * What an error says, in one line. Those of several addresses of a host have no common message, and what failed
 * in fetch() only its cause says.
 */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(describeError).join('; ');
  }
  if (error instanceof StoreUnavailable) return error.reason;
  // TypeORM's error says what its driver's does, in other words; not by its class, which loads all of TypeORM.
  if (Error.isError(error) && 'driverError' in error) return describeError(error.driverError);
  const text = (Error.isError(error) ? error.message : String(error)).replace(/\s*\n\s*/g, ' ');
  const isFetch = error instanceof TypeError && error.cause !== undefined;
  return isFetch ? `${text}: ${describeError(error.cause)}` : text;
}

/** The exit code of a start or a command that failed: EX_CONFIG of sysexits.h for an invalid configuration. */
export function exitCodeOf(error: unknown): number {
  return error instanceof ConfigError ? 78 : 1;
}

/** The stack of an error and of what caused it. Not util.inspect(), which shows a query's plants. */
export function stackOf(error: unknown): string {
  if (!Error.isError(error)) return String(error);
  const stack = error.stack ?? error.message;
  return error.cause === undefined ? stack : `${stack}\ncaused by ${stackOf(error.cause)}`;
}

/**
 * Why a start or a command failed, in words for the operator. Never a stack, never a secret.
 *
 * @param listener what stands before PORT and HOST in the names of the variables of the listener
 */
export function toOperatorMessage(error: unknown, listener = ''): string {
  if (error instanceof ConfigError) return `Invalid configuration:\n${error.message}`;
  if (!Error.isError(error)) return String(error);
  const { code, errno, syscall, path, port } = error as NodeJS.ErrnoException & {
    readonly port?: number;
  };
  if (code === 'EADDRINUSE') {
    return `Port ${port} is in use by another process: stop that one, or set ${listener}PORT to another port.`;
  }
  if (errno !== undefined && path !== undefined) return `${path}: ${getSystemErrorMessage(errno)}`;
  if (/^(listen|bind|getaddrinfo)$/.test(syscall ?? '')) {
    return `${listener}HOST and ${listener}PORT: ${error.message}`;
  }
  return describeError(error);
}
