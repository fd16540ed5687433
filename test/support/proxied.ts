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

/** The largest body that `deploy/nginx/plant-store.conf` reads, in bytes. */
const MAX_BODY = 65_536;

/**
 * Sends the body of a request that the service refuses without it. nginx sends 100 itself, and reads the body before the
 * service sees the request; one that is too large it refuses without it, too.
 */
export async function sendBodyToProxy(
  connection: RawConnection,
  length: number,
  expectsContinue = false,
): Promise<void> {
  if (!PROXIED || length > MAX_BODY) return;
  if (expectsContinue) expect((await connection.read()).status).toBe(100);
  connection.write('x'.repeat(length));
}
