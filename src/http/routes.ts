import { Injectable } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { HttpAdapterHost } from '@nestjs/core';
import type { Application, IRoute } from 'express';
import { ApiException, ERRORS } from '../errors/error-codes.js';

/** A layer of Express's router (github.com/pillarjs/router), with what Express's types lack of it. */
interface Layer {
  readonly route?: IRoute & { readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): unknown;
}

/** Nest gives the handler of a controller's method the metadata of that method; others are middleware, or of the docs page. */
function isOperation({ route }: Layer): boolean {
  return route?.stack.some(({ handle }) => Reflect.hasMetadata(METHOD_METADATA, handle)) ?? false;
}

/** Express throws at a parameter that cannot be decoded: such a path is of no route. */
function isOfRoute(layer: Layer, path: string): boolean {
  try {
    return Boolean(layer.match(path));
  } catch {
    return false;
  }
}

/** The routes of the controllers, by Express's router. */
@Injectable()
export class Routes {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  /** Finds the path that a request is for, such as `/plants/:id`, with the methods that it has; undefined if it has none. */
  find(path: string): { readonly path: string; readonly methods: readonly string[] } | undefined {
    const layers = this.list().filter(isOperation);
    const routes = layers.flatMap((layer) => (isOfRoute(layer, path) ? (layer.route ?? []) : []));
    const methods = new Set(routes.flatMap((route) => Object.keys(route.methods)));
    // Express serves HEAD by GET.
    if (methods.has('get')) methods.add('head');
    const names = Array.from(methods, (name) => name.toUpperCase()).sort();
    return routes[0] && { path: routes[0].path, methods: names };
  }

  /** Makes the error of a request that has no route: it names what there is. RFC 9110, section 15.5.6: a 405 has `Allow`. */
  createRefusal(path: string): ApiException {
    const route = this.find(path);
    if (!route) return new ApiException(ERRORS.NO_SUCH_PATH, this.describe());
    const allow = route.methods.join(', ');
    const kind = { ...ERRORS.NO_SUCH_METHOD, headers: { allow } };
    return new ApiException(kind, `${kind.message}: only ${allow} ${route.path}`);
  }

  private describe(): string {
    const paths = new Set(
      this.list().flatMap((one) => (isOperation(one) ? (one.route?.path ?? []) : [])),
    );
    const operations = Array.from(
      paths,
      (path) => `${this.find(path)?.methods.join(', ')} ${path}`,
    );
    const isDocumented = this.list().some((one) => one.route && isOfRoute(one, '/docs'));
    const documentation = isDocumented ? '; documentation at /docs' : '';
    return `${ERRORS.NO_SUCH_PATH.message}: there is ${operations.join(', ')}${documentation}`;
  }

  private list(): readonly Layer[] {
    const { router } = this.adapterHost.httpAdapter.getInstance<Application>();
    return router.stack as unknown as readonly Layer[];
  }
}
