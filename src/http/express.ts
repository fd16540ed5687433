import type { Express } from 'express';

// The one file that uses parts of Express's router which it does not document: what it keeps of routes. The tests of 405
// and CORS in test/http/nest-responses.e2e.spec.ts and test/http/routes.e2e.spec.ts fail if they change.

/** What the router keeps of a route, or of middleware. */
type Layer = Express['router']['stack'][number] & { match(path: string): boolean };

/** Counts the routes and the middleware of an application so far. */
export function countLayers({ router }: Express): number {
  return router.stack.length;
}

/**
 * Lists the methods of the routes that match a path.
 *
 * @param from of {@link countLayers}: earlier routes are left out
 */
export function listMethods({ router }: Express, path: string, from: number): string[] {
  const layers = router.stack.slice(from) as Layer[];
  const routes = layers.filter((layer) => layer.route && matches(layer, path));
  const methods = routes.flatMap(({ route }) => route?.stack.map(({ method }) => method) ?? []);
  const names = methods.flatMap((method) => (method === 'get' ? ['get', 'head'] : method));
  return [...new Set(names.map((name) => name.toUpperCase()))];
}

function matches(layer: Layer, path: string): boolean {
  try {
    return layer.match(path);
  } catch {
    // A parameter is malformed. Such a request is refused, and other origins must be able to read that, too.
    return false;
  }
}
