/** @engine postgres */
import { Controller, Get, Module } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { expect, it } from '@jest/globals';
import { Repository } from 'typeorm';
import { Plant } from '../../src/plants/plant.entity.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresStore } from '../support/postgres-store.js';
import { Service } from '../support/service.js';

@Controller('count')
class CountController {
  constructor(@InjectRepository(Plant) private readonly plants: Repository<Plant>) {}

  @Get()
  async count() {
    return { plants: await this.plants.count() };
  }
}

@Module({ imports: [TypeOrmModule.forFeature([Plant])], controllers: [CountController] })
class CountModule {}

it('a handler that reads by @InjectRepository() gets 503 while the server is gone', async () => {
  const server = await PostgresServer.start();
  const store = await PostgresStore.create(server.url());
  const service = await Service.start({ DATABASE_URL: store.url }, [CountModule]);
  const count = async () => {
    const response = await fetch(`http://127.0.0.1:${service.port}/count`);
    return { status: response.status, body: await response.json() };
  };
  expect(await count()).toEqual({ status: 200, body: { plants: 0 } });
  await server.kill();
  const unavailable = {
    status: 503,
    body: { error: 5001, message: 'the store is unavailable' },
  };
  // The second one finds no connection at all.
  for (let i = 0; i < 2; i++) expect(await count()).toEqual(unavailable);
  expect(service.log.text).toContain('ERROR: [Store] the store is unavailable: ');
  await server.start();
  while ((await count()).status !== 200);
  await service.stop();
  await server.remove();
});
