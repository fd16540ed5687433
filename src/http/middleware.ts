import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Request, RequestHandler } from 'express';
import helmet, { type HelmetOptions } from 'helmet';
import type { Config } from '../config/config.js';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import { Connections } from './connections.js';
import { Drain } from './drain.js';
import { HEADERS_TOO_LONG, MAX_FIELDS } from './client-errors.js';
import { Routes } from './routes.js';

/**
 * Helmet's headers that say something of JSON, which loads nothing, and which nobody frames (OWASP REST Security Cheat Sheet).
 * docs-page.ts has another policy.
 */
const JSON_HEADERS = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  xContentTypeOptions: true,
  xFrameOptions: { action: 'deny' },
  crossOriginOpenerPolicy: false,
  crossOriginResourcePolicy: false,
  originAgentCluster: false,
  referrerPolicy: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xPoweredBy: false,
  xXssProtection: false,
} satisfies HelmetOptions;

/** What pages of CORS_ORIGINS may send and read, by the methods of each path; `maxAge` in seconds. */
const CORS = {
  // The last three are of W3C's Trace Context and Baggage.
  allowedHeaders: 'Authorization,Content-Type,X-Request-Id,traceparent,tracestate,baggage',
  exposedHeaders: 'WWW-Authenticate,Retry-After,X-Request-Id,RateLimit,RateLimit-Policy',
  maxAge: 600,
};

/** Adds the middleware in the order in which it runs, before the guards. */
export function addMiddleware(app: NestExpressApplication, config: Config): void {
  const { corsOrigins, scheme } = config;
  const [drain, routes] = [app.get(Drain), app.get(Routes)];
  app.use(app.get(Connections).createContext());
  const strictTransportSecurity = scheme === 'https' && { includeSubDomains: false };
  app.use(helmet({ ...JSON_HEADERS, strictTransportSecurity }));
  if (corsOrigins)
    app.enableCors(({ headers, path }: Request, respond) => {
      // The library takes every OPTIONS for a preflight (fetch.spec.whatwg.org, "CORS-preflight request").
      const isPreflight = headers.origin && headers['access-control-request-method'];
      const methods = [...((isPreflight && routes.find(path)?.methods) || ['POST'])];
      respond(null, { ...CORS, methods, origin: corsOrigins, preflightContinue: !isPreflight });
    });
  app.use(((request, response, next) => {
    // Node drops what follows a request to upgrade, so the connection must close.
    if (request.headers.upgrade !== undefined) response.setHeader('connection', 'close');
    if (drain.phase === 'refusing') throw new ApiException(ERRORS.SHUTTING_DOWN);
    checkRequest(request);
    next();
  }) satisfies RequestHandler);
}

/** Headers of which Node uses the first, and a proxy perhaps the last (RFC 9112, section 3.2; RFC 9110, section 5.3). */
const SINGLE_HEADERS = ['host', 'authorization', 'content-type'];

/** A host, empty too, and a port (RFC 9110, section 7.2; RFC 3986, section 3.2.2). */
const HOST = /^(\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(:\d*)?$/i;

/** Refuses what Node's parser accepts. @throws ApiException BAD_REQUEST, NO_SUCH_CODING */
function checkRequest({ headers, headersDistinct, httpVersion, rawHeaders, url }: Request): void {
  if (rawHeaders.length > 2 * MAX_FIELDS) throw HEADERS_TOO_LONG;
  if (!isDecodable(url)) throw new ApiException(ERRORS.BAD_REQUEST, 'the path is malformed');
  const { host, 'transfer-encoding': coding } = headers;
  const repeated = SINGLE_HEADERS.find((name) => (headersDistinct[name]?.length ?? 0) > 1);
  if (repeated) throw new ApiException(ERRORS.BAD_REQUEST, `more than one header \`${repeated}\``);
  // RFC 9112, section 3.2. HTTP/1.0 may leave it out.
  if (host === undefined ? httpVersion !== '1.0' : !HOST.test(host))
    throw new ApiException(ERRORS.BAD_REQUEST, 'the header `host` is missing or malformed');
  // RFC 9112, section 6.1: HTTP/1.0 has no transfer codings, and a proxy may not see them.
  const isMismatch = httpVersion === '1.0' && coding !== undefined;
  if (isMismatch || !/^1\.[01]$/.test(httpVersion)) throw new ApiException(ERRORS.BAD_REQUEST);
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw new ApiException(ERRORS.NO_SUCH_CODING);
}

function isDecodable(url: string): boolean {
  try {
    if (url.includes('%')) decodeURIComponent(url.split('?', 1)[0] ?? '');
    return !url.includes('#');
  } catch {
    return false;
  }
}
