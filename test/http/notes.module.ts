import {
  Module,
  RequestMethod,
  ValidationPipe,
  type MiddlewareConsumer,
  type NestModule,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { NextFunction, Request, Response } from 'express';
import { AuthModule } from '../../src/auth/auth.module.js';
import { PlantsController } from '../../src/plants/plants.controller.js';
import { Service } from '../support/service.js';
import { DraftsController, Note, NotesController } from './notes.controller.js';
import { GlobalInterceptor, GoneFilter, NoteMiddleware, waitAndThrow } from './notes.parts.js';

@Module({
  imports: [AuthModule, TypeOrmModule.forFeature([Note])],
  controllers: [NotesController, DraftsController],
  providers: [{ provide: APP_FILTER, useClass: GoneFilter }],
})
class NotesModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(NoteMiddleware).forRoutes(NotesController, PlantsController);
    consumer.apply(waitAndThrow).forRoutes('*path');
    // Express has a route for middleware of one method.
    consumer.apply(waitAndThrow).forRoutes({ path: '*path', method: RequestMethod.GET });
  }
}

/** The service with a second module. */
export class NotesService {
  private constructor(readonly service: Service) {}

  static async start(): Promise<NotesService> {
    const env = { RATE_LIMIT: '1000/h' };
    const service = await Service.start(env, [NotesModule], (app) => {
      app.use((_request: Request, response: Response, next: NextFunction) => {
        response.setHeader('x-app-use', 'seen');
        next();
      });
      app.useGlobalInterceptors(new GlobalInterceptor());
      app.useGlobalPipes(new ValidationPipe({ validateCustomDecorators: true, transform: true }));
    });
    await service.store.execute(
      'CREATE TABLE notes (id integer PRIMARY KEY, text text, stars int DEFAULT 7, big bigint)',
    );
    return new NotesService(service);
  }

  /** Sends a request; the body of the response is parsed if it is JSON. */
  async send(method: string, path: string, init: RequestInit = {}) {
    const url = `http://127.0.0.1:${this.service.port}${path}`;
    const response = await fetch(url, { redirect: 'manual', ...init, method });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    const body = isJson && text !== '' ? (JSON.parse(text) as unknown) : text;
    const { status, headers } = response;
    return { status, headers: Object.fromEntries(headers), body, text };
  }

  create(path: string, body = '{"id":7,"name":"oak"}') {
    return this.send('POST', path, { headers: this.service.client.headers, body });
  }
}
