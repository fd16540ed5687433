import { ConfigError } from './config/config-error.js';

/** Why a start or a command failed, in words for the operator. Never a stack, never a secret. */
export function reasonOf(error: unknown): string {
  if (error instanceof ConfigError) return `The configuration is bad:\n${error.message}`;
  if (!(error instanceof Error)) return String(error);
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return 'PORT: another process listens on it already.';
  if (/^(listen|bind|getaddrinfo)$/.test(syscall ?? '')) return `HOST and PORT: ${error.message}`;
  return error.message;
}
