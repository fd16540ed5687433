import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BearerStrategy } from './bearer.strategy.js';
import { jwtVerifier } from './jwt/jwt-verifier.provider.js';
import { LastUsed } from './last-used.js';
import { Token } from './token.entity.js';
import { RateLimiter } from './rate-limiter.js';
import { TokenVerifier } from './token-verifier.js';
import { TokensService } from './tokens.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Token])],
  providers: [BearerStrategy, jwtVerifier, LastUsed, RateLimiter, TokenVerifier, TokensService],
  exports: [BearerStrategy, RateLimiter, TokensService],
})
export class AuthModule {}
