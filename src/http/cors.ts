import type { CorsOptionsDelegate } from '@nestjs/common/interfaces/external/cors-options.interface.js';
import type { Request } from 'express';
import type { Config } from '../config/config.js';
import type { PlantStoreAdapter } from './plant-store.adapter.js';

/** Seconds that a browser need not ask again. */
const PREFLIGHT_MAX_AGE_SECONDS = 600;

const OPTIONS = {
  allowedHeaders: ['Authorization', 'Content-Type', 'X-Request-Id', 'traceparent', 'tracestate'],
  exposedHeaders: [
    'WWW-Authenticate',
    'Retry-After',
    'X-Request-Id',
    'RateLimit',
    'RateLimit-Policy',
  ],
  maxAge: PREFLIGHT_MAX_AGE_SECONDS,
};

/**
 * Makes what Nest's enableCors() takes: pages of the configured origins may call every operation, with its headers and
 * without cookies.
 *
 * @param adapter tells the methods that a path has
 */
export function createCorsOptions(
  { corsOrigins }: Config,
  adapter: PlantStoreAdapter,
): CorsOptionsDelegate<Request> {
  return ({ method, path, headers }, respond) => {
    const methods = adapter.listMethods(path);
    // The library takes every OPTIONS for a preflight (fetch.spec.whatwg.org, "CORS-preflight request").
    const isPreflight =
      methods.length > 0 &&
      headers.origin !== undefined &&
      headers['access-control-request-method'] !== undefined;
    const origin = (method !== 'OPTIONS' || isPreflight) && [...corsOrigins];
    respond(null, { ...OPTIONS, methods, origin });
  };
}
