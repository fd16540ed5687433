import type { FactoryProvider } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Config } from '../../config/config.js';
import type { JwtVerifier } from './jwt-verifier.js';

/** The {@link JwtVerifier}, or undefined where the operator has set no identity provider. */
export const JWT_VERIFIER = Symbol('JwtVerifier');

export const jwtVerifier: FactoryProvider<JwtVerifier | undefined> = {
  provide: JWT_VERIFIER,
  inject: [Config, HttpAdapterHost],
  useFactory: async (config: Config, { listen$ }: HttpAdapterHost) => {
    if (config.authIssuer === undefined) return undefined;
    // Loaded only here: without an identity provider jose costs nothing.
    const { JwtVerifier } = await import('./jwt-verifier.js');
    const verifier = new JwtVerifier(config);
    // Not at the start, which a provider that is away must not hold up; and the operator's commands,
    // which never listen, need no keys.
    listen$.subscribe(() => verifier.prepare());
    return verifier;
  },
};
