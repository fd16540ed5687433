import type { CorsOptions } from '@nestjs/common/interfaces/external/cors-options.interface.js';
import type { Config } from '../config/config.js';

/** Seconds that a browser need not ask again. */
const MAX_AGE = 600;

/** What pages of other origins may do: the one operation, with its headers, and no cookies. */
export function corsOptions({ corsOrigins }: Config): CorsOptions {
  return {
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
    maxAge: MAX_AGE,
  };
}
