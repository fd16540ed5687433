import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BearerStrategy } from './bearer.strategy.js';
import { LastUsed } from './last-used.js';
import { Token } from './token.entity.js';
import { TokenVerifier } from './token-verifier.js';
import { TokensService } from './tokens.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Token])],
  providers: [BearerStrategy, LastUsed, TokenVerifier, TokensService],
  exports: [BearerStrategy, TokensService],
})
export class AuthModule {}
