import {
  Catch,
  Injectable,
  Logger,
  NotFoundException,
  type ArgumentsHost,
  type NestApplicationOptions,
  type OnApplicationBootstrap,
} from '@nestjs/common';
// Not documented: no other way tells of `@Body()`. test/http/nest-ways.e2e.spec.ts fails if it changes.
import { ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Request } from 'express';
import { Config } from '../config/config.js';
import { StoreHealth } from '../database/health.js';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import { ErrorFilter, isRouteNotFound } from '../http/error.filter.js';

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
    return [...new Set(this.listPaths(path).flatMap(({ methods }) => methods))];
  }

  /** Finds the template of a path: no text of the client. */
  findTemplate(path: string): string | undefined {
    return this.listPaths(path)[0]?.template;
  }

  private listPaths(path: string): Path[] {
    this.paths ??= Object.entries(this.buildDocument?.().paths ?? {}).map(([template, item]) => ({
      template: template.replace(/\{([^}]+)\}/g, ':$1'),
      pattern: toPattern(template),
      methods: Object.keys(item).flatMap((method) =>
        method === 'get' ? ['GET', 'HEAD'] : method.toUpperCase(),
      ),
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

/** Responds with 405 and `Allow` where a path has operations of other methods only (RFC 9110, section 15.5.6). */
@Catch(NotFoundException)
@Injectable()
export class MethodNotAllowedFilter extends ErrorFilter {
  constructor(
    health: StoreHealth,
    private readonly config: Config,
    private readonly operations: Operations,
  ) {
    super(health);
  }

  override catch(error: NotFoundException, context: ArgumentsHost): void {
    const request = context.switchToHttp().getRequest<Request>();
    // With the global prefix, which Express takes off.
    const path = request.baseUrl + request.path;
    const methods = isRouteNotFound(error, request) ? this.operations.listMethods(path) : [];
    // A route may not match for another reason, such as its version.
    const isOtherMethod = methods.length > 0 && !methods.includes(request.method);
    super.catch(isOtherMethod ? this.createException(methods, path) : error, context);
  }

  private createException(methods: readonly string[], path: string): ApiException {
    const { docs, publicUrl = '' } = this.config;
    const allow = methods.join(', ');
    const kind = { ...ERRORS.NO_SUCH_METHOD, headers: { allow } };
    const seeDocs = docs ? `; see ${publicUrl}/docs` : '';
    return new ApiException(kind, `${kind.message}: only ${allow} ${path}${seeDocs}`);
  }
}

/** @param template such as `/notes/{id}` (OpenAPI 3.1.0, "Path Templating") */
function toPattern(template: string): RegExp {
  const source = template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+');
  return new RegExp(`^${source}$`);
}
