import { expect } from '@jest/globals';
import type { Nginx } from './nginx.js';
import type { RawConnection } from './raw-connection.js';

/** Whether tests of HTTP run through nginx: jest.config.js's project `proxy`. */
export const { PROXIED } = globalThis as unknown as { PROXIED?: true };

/** Starts nginx in front of an application; undefined unless PROXIED. */
export async function startProxy(port: number): Promise<Nginx | undefined> {
  if (!PROXIED) return undefined;
  // Imported here, as most tests have no need of it.
  const { Nginx, upstreamLine } = await import('./nginx.js');
  return Nginx.start({ upstream: upstreamLine(port) });
}

/**
 * Sends the body of a request that the service refuses without it. nginx sends 100 itself, and reads the body before the
 * service sees the request.
 */
export async function sendBodyToProxy(
  connection: RawConnection,
  length: number,
  expectsContinue = false,
): Promise<void> {
  if (!PROXIED) return;
  if (expectsContinue) expect((await connection.read()).status).toBe(100);
  connection.write('x'.repeat(length));
}
