import { Module } from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Config } from '../config/config.js';
import { BearerStrategy } from './bearer.strategy.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import { LastUsed } from './tokens/last-used.js';
import { rateLimiter } from './rate-limit.guard.js';
import { Token } from './tokens/token.entity.js';
import { TokenVerifier } from './tokens/token-verifier.js';
import { TokensService } from './tokens/tokens.service.js';

const tokensService = {
  provide: TokensService,
  inject: [getRepositoryToken(Token)],
  useFactory: (tokens: Repository<Token>) => new TokensService(tokens),
};

/** Undefined without an identity provider. */
const jwtVerifier = {
  provide: JwtVerifier,
  inject: [Config],
  useFactory: (config: Config) => config.authIssuer && new JwtVerifier(config),
};

@Module({
  imports: [TypeOrmModule.forFeature([Token])],
  providers: [BearerStrategy, jwtVerifier, LastUsed, rateLimiter, tokensService, TokenVerifier],
  exports: [rateLimiter],
})
export class AuthModule {}
