import type * as swagger from '@nestjs/swagger';

type Swagger = typeof swagger;
type Decorator = PropertyDecorator & MethodDecorator & ClassDecorator;

/** What waits for the document, in the order in which the decorators would have been applied. */
const pending: ((swagger: Swagger) => void)[] = [];

/**
 * Applies a decorator of @nestjs/swagger once someone asks for the document. The library and what it imports are
 * over 500 modules, which a service that no one asks for the document never loads (docs/performance.md).
 */
export function Documented(choose: (swagger: Swagger) => (...target: never[]) => void): Decorator {
  return (...target: unknown[]) => {
    pending.push((swagger) => choose(swagger)(...(target as never[])));
  };
}

/** Loads @nestjs/swagger, and applies the decorators that are there by now. */
export async function loadSwagger(): Promise<Swagger> {
  const swagger = await import('@nestjs/swagger');
  for (const apply of pending) apply(swagger);
  // Not before: where one fails, the next who asks applies them all again.
  pending.length = 0;
  return swagger;
}
