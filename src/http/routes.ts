import { METHODS } from 'node:http';
import type { ExpressAdapter } from '@nestjs/platform-express';
import { pathToRegexp } from 'path-to-regexp';

/** The methods that a route has by another name than its own. */
const METHODS_OF: Readonly<Record<string, readonly string[]>> = {
  get: ['GET', 'HEAD'],
  all: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
};

/** The routes of controllers, for the `Allow` of a 405 and for CORS. */
export class Routes {
  private readonly routes: { readonly path: RegExp; readonly methods: readonly string[] }[] = [];

  /**
   * Records each route that Nest registers from now on: it calls the adapter's method of the route's name. What is
   * registered with Express itself, such as middleware and pages, is no route of a controller.
   */
  recordFrom(adapter: ExpressAdapter): void {
    const own = METHODS.map((method) => [method.toLowerCase(), [method]] as const);
    for (const [name, methods] of Object.entries({ ...Object.fromEntries(own), ...METHODS_OF })) {
      const register: unknown = Reflect.get(adapter, name);
      if (typeof register !== 'function') continue;
      const record = (...route: unknown[]): unknown => {
        for (const path of [route[0]].flat()) this.add(path, methods);
        return register.apply(adapter, route);
      };
      Object.assign(adapter, { [name]: record });
    }
  }

  /** Lists the methods that controllers have on a path. */
  listMethods(path: string): string[] {
    const found = this.routes.filter((route) => route.path.test(path));
    return [...new Set(found.flatMap(({ methods }) => methods))];
  }

  private add(path: unknown, methods: readonly string[]): void {
    if (path instanceof RegExp) this.routes.push({ path, methods });
    if (typeof path !== 'string') return;
    const { regexp } = pathToRegexp(path, { sensitive: true, trailing: false });
    this.routes.push({ path: regexp, methods });
  }
}
