import { Controller, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

@Controller('plants')
class PlantsController {
  @Post()
  @HttpCode(200)
  create(): { name: string; tag: string } {
    return { name: 'Black alder', tag: 'Alnus glutinosa' };
  }
}

@Module({ controllers: [PlantsController] })
class AppModule {}

/** Nest on Express with its defaults: parses the body, and the handler ignores it. */
const app = await NestFactory.create(AppModule, { logger: false });
await app.listen(0, '127.0.0.1');
console.log(await app.getUrl());
