import type { NestExpressApplication } from '@nestjs/platform-express';
import { SwaggerModule } from '@nestjs/swagger';
import helmet from 'helmet';
import type { Config } from '../config/config.js';
import { TLS_ALONE } from '../http/json-headers.js';
import { speaksTls } from '../http/key-pair.js';
import { buildDocument } from './document.js';

/** Serves `/openapi.json`, `/openapi.yaml` and Swagger UI at `/docs`. */
export function serveDocument(app: NestExpressApplication, config: Config): void {
  // Swagger UI sets styles in its page and draws with data: images; its scripts are files.
  const secure = helmet({
    // Without TLS of our own it is for the proxy that speaks TLS to say.
    strictTransportSecurity: speaksTls(config) && { maxAge: TLS_ALONE, includeSubDomains: false },
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
  SwaggerModule.setup('docs', app, () => buildDocument(app, config), {
    jsonDocumentUrl: 'openapi.json',
    yamlDocumentUrl: 'openapi.yaml',
    customSiteTitle: 'Plant Store',
  });
}
