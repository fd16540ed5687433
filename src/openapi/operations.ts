import {
  Injectable,
  Logger,
  type NestApplicationOptions,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Request } from 'express';

/** What pages of other origins may send and read; `maxAge` in seconds. */
const CORS = {
  allowedHeaders: ['Authorization', 'Content-Type', 'X-Request-Id', 'traceparent', 'tracestate'],
  exposedHeaders: [
    'WWW-Authenticate',
    'Retry-After',
    'X-Request-Id',
    'RateLimit',
    'RateLimit-Policy',
  ],
  maxAge: 600,
};

type CorsOptionsDelegate = Extract<NestApplicationOptions['cors'], (...args: never) => unknown>;

/** A path of the document: its template as Express writes it, `/notes/:id`. */
type Path = Readonly<{ template: string; pattern: RegExp; methods: readonly string[] }>;

/** The operations of the OpenAPI document, for the `Allow` of a 405, for CORS and for the log. */
@Injectable()
export class Operations implements OnApplicationBootstrap {
  private paths: Path[] | undefined;
  private buildDocument: (() => OpenAPIObject) | undefined;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  /** @param buildDocument is called at the first use, when all operations are registered */
  describeBy(buildDocument: () => OpenAPIObject): void {
    this.buildDocument = buildDocument;
  }

  /** Lists the methods of a path: `POST` for `/plants`; none if it has no operation. */
  listMethods(path: string): string[] {
    const methods = this.listPaths(path).flatMap((one) => one.methods);
    return [...new Set(methods.map((method) => method.toUpperCase()))];
  }

  /** Finds the template of a path: no text of the client. */
  findTemplate(path: string): string | undefined {
    return this.listPaths(path)[0]?.template;
  }

  private listPaths(path: string): Path[] {
    this.paths ??= Object.entries(this.buildDocument?.().paths ?? {}).map(([template, item]) => ({
      template: template.replace(/\{([^}]+)\}/g, ':$1'),
      pattern: toPattern(template),
      methods: Object.keys(item).flatMap((method) => (method === 'get' ? ['get', 'head'] : method)),
    }));
    return this.paths.filter(({ pattern }) => pattern.test(path));
  }

  /** Creates the options of enableCors(): pages of the origins may call every operation, without cookies. */
  createCorsOptions(origins: readonly string[]): CorsOptionsDelegate {
    return ({ method, path, headers }: Request, respond) => {
      const methods = this.listMethods(path);
      // The library takes every OPTIONS for a preflight (fetch.spec.whatwg.org, "CORS-preflight request").
      const isPreflight =
        methods.length > 0 &&
        headers.origin !== undefined &&
        headers['access-control-request-method'] !== undefined;
      const origin = (method !== 'OPTIONS' || isPreflight) && [...origins];
      respond(null, { ...CORS, methods, origin });
    };
  }

  /** Warns of `@Body()`: by default no body parser runs before the guards. */
  onApplicationBootstrap(): void {
    for (const { metatype } of this.discovery.getControllers()) {
      if (!metatype) continue;
      const { name, prototype } = metatype as { readonly name: string; readonly prototype: object };
      for (const method of this.scanner.getAllMethodNames(prototype)) {
        const params = (Reflect.getMetadata(ROUTE_ARGS_METADATA, metatype, method) ?? {}) as object;
        if (!Object.keys(params).some((key) => key.startsWith(`${RouteParamtypes.BODY}:`)))
          continue;
        new Logger('Operations').warn(
          `${name}.${method}: @Body() is undefined unless a body parser runs before the guards: use @JsonBody(), or ` +
            "app.useBodyParser('json'), which parses bodies without a token too",
        );
      }
    }
  }
}

/** @param template such as `/notes/{id}` (OpenAPI 3.1.0, "Path Templating") */
function toPattern(template: string): RegExp {
  const source = template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+');
  return new RegExp(`^${source}$`);
}
