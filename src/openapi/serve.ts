import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import helmet from 'helmet';
import type { Config } from '../config/config.js';
import { ERRORS, Fault } from '../errors/errors.js';
import { speaksTls } from '../http/key-pair.js';
import { HSTS_MAX_AGE_SECONDS } from '../http/answer.js';
import { buildDocument } from './document.js';
import { pageSender, type Page } from './page.js';
import { swaggerUi } from './swagger-ui.js';

/**
 * Serves `/openapi.json`, `/openapi.yaml` and Swagger UI at `/docs`: a fixed list, from memory. Files that are
 * opened for whoever asks would be as many as a client asks for and does not read.
 */
export function serveDocument(app: NestExpressApplication, config: Config): void {
  // Swagger UI sets styles in its page and draws with data: images; its scripts are files.
  const secure = helmet({
    // Without TLS of our own it is for the proxy that speaks TLS to say.
    strictTransportSecurity: speaksTls(config) && {
      maxAge: HSTS_MAX_AGE_SECONDS,
      includeSubDomains: false,
    },
    xFrameOptions: { action: 'deny' },
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
        baseUri: ["'none'"],
        objectSrc: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
  });
  for (const path of ['/docs', '/openapi.json', '/openapi.yaml']) app.use(path, secure);
  const pages: Record<string, Page> = {
    '/openapi.json': {
      type: 'application/json',
      make: async () => JSON.stringify(await buildDocument(app, config)),
    },
    '/openapi.yaml': {
      type: 'application/yaml',
      make: async () => yamlOf(await buildDocument(app, config)),
    },
    ...swaggerUi(),
  };
  const express = app.getHttpAdapter().getInstance();
  for (const [path, page] of Object.entries(pages)) express.get(path, pageSender(page));
  // Who opens the bare address in a browser is looking for these pages.
  express.get('/', () => {
    const docs = `${config.publicUrl ?? ''}/docs`;
    throw new Fault(ERRORS.NO_SUCH_PATH, `no such path; the documentation is at ${docs}`);
  });
}

/** Loads the library for it now: at the start it would take a tenth of the time. */
async function yamlOf(document: OpenAPIObject): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(document, { aliasDuplicateObjects: false });
}
