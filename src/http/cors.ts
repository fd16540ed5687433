import cors from 'cors';
import type { Request, Response } from 'express';
import type { Config } from '../config/config.js';

/** Seconds that a browser need not ask again. */
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** Answers a browser's preflight, or adds headers to the answer to come and calls `next`. */
export type Cors = (request: Request, response: Response, next: () => void) => void;

/**
 * What pages of other origins may do: the one operation, with its headers, and no cookies; undefined if there are no
 * such origins. It stands before everything that refuses a request, so that a page can read the refusal.
 */
export function createCors({ corsOrigins }: Config): Cors | undefined {
  if (corsOrigins.length === 0) return undefined;
  const handle = cors({
    origin: [...corsOrigins],
    methods: 'POST',
    allowedHeaders: ['Authorization', 'Content-Type', 'X-Request-Id', 'traceparent', 'tracestate'],
    exposedHeaders: [
      'WWW-Authenticate',
      'Retry-After',
      'X-Request-Id',
      'RateLimit',
      'RateLimit-Policy',
    ],
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
  });
  return (request, response, next) => {
    // The library takes every OPTIONS for a preflight.
    if (request.method === 'OPTIONS' && !isPreflight(request)) next();
    else handle(request, response, next);
  };
}

/** The preflight of the one operation (fetch.spec.whatwg.org, "CORS-preflight request"). */
function isPreflight({ url, headers }: Request): boolean {
  const asks = headers['access-control-request-method'] !== undefined;
  return asks && headers.origin !== undefined && url.split('?', 1)[0] === '/plants';
}
