import { ConfigError } from './config/config-error.js';

/**
 * Why a start or a command failed, in words for the operator. Never a stack, never a secret.
 *
 * @param listener what stands before PORT and HOST in the names of the variables of the listener
 */
export function reasonOf(error: unknown, listener = ''): string {
  if (error instanceof ConfigError) return `The configuration is bad:\n${error.message}`;
  if (!(error instanceof Error)) return String(error);
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return `${listener}PORT: another process listens on it already.`;
  if (/^(listen|bind|getaddrinfo)$/.test(syscall ?? '')) {
    return `${listener}HOST and ${listener}PORT: ${error.message}`;
  }
  return error.message;
}
