import { Module } from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Repository } from 'typeorm';
import { Config } from '../config/config.js';
import { ConfigError } from '../config/environment.js';
import { JsonBodyGuard } from '../http/json-body.js';
import { BearerGuard } from './bearer.guard.js';
import { BearerStrategy, JWT_VERIFIER } from './bearer.strategy.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { SCOPES } from './scopes.js';
import { LastUsed } from './tokens/last-used.js';
import { Token } from './tokens/token.entity.js';
import { TokenVerifier } from './tokens/token-verifier.js';
import { TokensService } from './tokens/tokens.service.js';

const tokensService = {
  provide: TokensService,
  inject: [getRepositoryToken(Token)],
  useFactory: (tokens: Repository<Token>) => new TokensService(tokens),
};

const jwtVerifier = {
  provide: JWT_VERIFIER,
  inject: [Config],
  useFactory: async (config: Config) => {
    if (config.authIssuer === undefined) return undefined;
    const others: readonly string[] = SCOPES.filter((scope: string) => scope !== 'plants:create');
    if (others.includes(config.authScope))
      throw new ConfigError(
        `AUTH_SCOPE must be none of ${others.join(', ')}, which are other scopes`,
      );
    // Loaded only here: jose is not needed without an identity provider.
    const { JwtVerifier } = await import('./jwt/jwt-verifier.js');
    return new JwtVerifier(config);
  },
};

const rateLimiter = {
  provide: RateLimiterMemory,
  inject: [Config],
  useFactory: ({ rateLimit }: Config) =>
    rateLimit && new RateLimiterMemory({ points: rateLimit.requests, duration: rateLimit.seconds }),
};

/** The parts of the OperationGuard, which Nest makes in the module of each guarded controller. */
const PARTS = [BearerGuard, RateLimitGuard, JsonBodyGuard, rateLimiter];

@Module({
  imports: [TypeOrmModule.forFeature([Token])],
  providers: [...PARTS, BearerStrategy, jwtVerifier, LastUsed, tokensService, TokenVerifier],
  exports: PARTS,
})
export class AuthModule {}
