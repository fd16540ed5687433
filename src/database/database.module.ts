import { Global, Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Config } from '../config/config.js';
import { ENGINE, engineOf } from './engine.js';

/** The store: its engine, its connection, its schema brought up to date. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot({ databaseUrl }: Config): DynamicModule {
    const engine = engineOf(databaseUrl);
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRoot({
          ...engine.connect(databaseUrl),
          migrationsRun: true,
          retryAttempts: 0,
        }),
      ],
      providers: [{ provide: ENGINE, useValue: engine }],
      exports: [ENGINE],
    };
  }
}
