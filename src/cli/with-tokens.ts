import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthModule } from '../auth/auth.module.js';
import { TokensService } from '../auth/tokens.service.js';
import { ConfigModule } from '../config/config.module.js';
import { readConfig } from '../config/read-config.js';
import { DatabaseModule } from '../database/database.module.js';
import { openStore } from '../database/open-store.js';

/** What the commands use of the application. */
@Module({})
class TokensModule {}

/**
 * Works on the tokens of the store that the environment names.
 *
 * @throws StoreUnusableError, ConfigError, TokenError
 */
export async function withTokens<Result>(
  work: (tokens: TokensService) => Promise<Result>,
): Promise<Result> {
  const config = readConfig();
  const imports = [
    ConfigModule.forRoot(config),
    DatabaseModule.forRoot(config, openStore),
    AuthModule,
  ];
  const app = await NestFactory.createApplicationContext(
    { module: TokensModule, imports },
    { abortOnError: false, logger: false },
  );
  try {
    return await work(app.get(TokensService));
  } finally {
    await app.close();
  }
}
