import { Reflector } from '@nestjs/core';

/** The scopes of all operations. A scope is added here before an operation names it: a misspelt one does not compile. */
export const SCOPES = ['plants:create'] as const;

export type Scope = (typeof SCOPES)[number];

/** The scopes of a token of the service, until a column of `tokens` says more: a new operation is 403 for all of today's. */
export const TOKEN_SCOPES: readonly Scope[] = ['plants:create'];

/** Names the scope that a token must have for an operation. Set by `@Authenticated()`, read by the BearerGuard. */
export const RequiredScope = Reflector.createDecorator<Scope>();

/** The word of an identity provider for a scope: AUTH_SCOPE for `plants:create`, the scope itself for others. */
export function toProviderWord(scope: string, authScope: string): string {
  return scope === 'plants:create' ? authScope : scope;
}
