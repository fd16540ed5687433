import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';

interface Route {
  /** As of Express: `/plants/:id`. */
  readonly path: string;
  readonly pattern: RegExp;
  readonly methods: readonly string[];
}

/** The routes of the controllers, by the OpenAPI document that Nest builds of them. */
@Injectable()
export class Routes {
  private routes: readonly Route[] | undefined;
  /** Set by createApp(): the document is built of an application, once its modules and its prefix are known. */
  buildDocument: () => Pick<OpenAPIObject, 'paths'> = () => ({ paths: {} });

  /** Finds the path that a request is for, with the methods that it has; undefined if it has none. */
  find(path: string): Pick<Route, 'path' | 'methods'> | undefined {
    this.routes ??= Object.entries(this.buildDocument().paths).map(toRoute);
    const found = this.routes.filter(({ pattern }) => pattern.test(path));
    const methods = new Set(found.flatMap((route) => route.methods));
    return found[0] && { path: found[0].path, methods: [...methods].sort() };
  }
}

function toRoute([template, operations]: [string, object]): Route {
  const methods = Object.keys(operations).map((name) => name.toUpperCase());
  // Express serves HEAD by GET.
  if (methods.includes('GET')) methods.push('HEAD');
  const pattern = RegExp.escape(template).replace(/\\\{\w+\\\}/g, '[^/]+');
  return {
    path: template.replace(/\{(\w+)\}/g, ':$1'),
    pattern: new RegExp(`^${pattern}$`),
    methods,
  };
}
