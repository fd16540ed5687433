/** @engine sqlite */
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  Body,
  Controller,
  Get,
  GoneException,
  HttpCode,
  Module,
  Post,
  UseGuards,
  ValidationPipe,
  type INestApplication,
} from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { NextFunction, Request, Response } from 'express';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { afterEach, describe, expect, it } from '@jest/globals';
import { IsString } from 'class-validator';
import request from 'supertest';
import { Entity, PrimaryColumn } from 'typeorm';
import { AppModule } from '../../src/app.module.js';
import { TokensService } from '../../src/auth/tokens/tokens.service.js';
import { readConfig } from '../../src/config/environment.js';
import { JsonBodyGuard } from '../../src/http/json-body.js';
import { BodyPipe, IsInt64 } from '../../src/http/validators.js';
import { PlantsService } from '../../src/plants/plants.service.js';
import { createStore } from '../support/engine.js';
import { requestText } from '../support/raw-connection.js';
import { Service } from '../support/service.js';
import type { TemporaryStore } from '../support/temporary-store.js';

class LeafDto {
  @IsString()
  text!: string;
}

class CountDto {
  @IsInt64()
  count!: bigint;
}

/** What the handler of /leaves/slow waits for, once it has its parameters. */
const makeSlow = () => ({
  begun: Promise.withResolvers<unknown>(),
  end: Promise.withResolvers<object>(),
});
let slow = makeSlow();

@Controller('leaves')
class LeavesController {
  @Post()
  @HttpCode(200)
  create(@Body() leaf: LeafDto) {
    return { leaf: leaf as LeafDto | undefined };
  }

  @Post('slow')
  @UseGuards(JsonBodyGuard)
  createSlowly(@Body() leaf: LeafDto) {
    slow.begun.resolve(leaf);
    return slow.end.promise;
  }

  @Post('counted')
  @UseGuards(JsonBodyGuard)
  createCounted(@Body(BodyPipe) { count }: CountDto) {
    return { count };
  }

  @Get()
  @UseGuards(AuthGuard('bearer'))
  list() {
    return [];
  }
}

@Entity()
class Leaf {
  @PrimaryColumn('text')
  text!: string;
}

@Entity()
class Twig extends Leaf {}

@Module({ controllers: [LeavesController] })
class LeavesModule {}

let service: Service | undefined;
afterEach(async () => {
  await service?.stop();
  service = undefined;
});

async function start(prepare?: (app: NestExpressApplication) => void): Promise<Service> {
  return (service = await Service.start({}, [LeavesModule], prepare));
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const EXACT = '{"id":9007199254740993,"name":"oak"}';

describe('@Body()', () => {
  it("the media type holds with app.useBodyParser('text')", async () => {
    const own = await start((app) => app.useBodyParser('text', { limit: '1mb' }));
    const post = (body: string) =>
      own.client.post(body, { ...own.client.headers, 'content-type': 'text/plain' });
    expect(await post(EXACT)).toMatchObject({ status: 400, body: { error: 1001 } });
  });

  it("works with app.useBodyParser('json'), and POST /plants stays exact", async () => {
    const own = await start((app) => app.useBodyParser('json'));
    const leaf = await request(own.app.getHttpServer()).post('/leaves').send({ text: 'green' });
    expect(leaf.body).toEqual({ leaf: { text: 'green' } });
    expect(await own.client.post(EXACT)).toMatchObject({ status: 200, body: { name: 'oak' } });
    expect((await own.store.plant(9007199254740993n))?.name).toBe('oak');
  });

  it('with BodyPipe, an @IsInt64() keeps its digits, and is refused out of range', async () => {
    const { app } = await start();
    const post = (count: string) =>
      request(app.getHttpServer()).post('/leaves/counted').type('json').send(`{"count":${count}}`);
    expect((await post('9007199254740993')).text).toBe('{"count":9007199254740993}');
    // BodyPipe makes a double of what is no int64, and that is an integer to JavaScript.
    for (const count of ['1e30', '9223372036854775808'])
      expect(await post(count)).toMatchObject({
        status: 400,
        body: { error: 3005, message: 'count must be an integer from -2^63 to 2^63-1' },
      });
  });

  it('gives what an interceptor has made of request.body', async () => {
    slow = makeSlow();
    const { app } = await start((nest) =>
      nest.useGlobalInterceptors({
        intercept(context, next) {
          const http = context.switchToHttp().getRequest<Request<object, object, LeafDto>>();
          http.body = { text: `${http.body.text}, ${http.body.text}` };
          return next.handle();
        },
      }),
    );
    slow.end.resolve({});
    await request(app.getHttpServer()).post('/leaves/slow').send({ text: 'green' }).expect(201);
    expect(await slow.begun.promise).toEqual({ text: 'green, green' });
  });
});

it('a handler that waits keeps only what it took of a body, not what was parsed', async () => {
  slow = makeSlow();
  let parsed: WeakRef<object> | undefined;
  const { app } = await start((nest) => {
    const transform = (value: object) => {
      parsed = new WeakRef(value);
      return value;
    };
    nest.useGlobalPipes({ transform }, new ValidationPipe({ transform: true, whitelist: true }));
  });
  const slowly = request(app.getHttpServer()).post('/leaves/slow').type('json');
  const response = slowly.send('{"text":"green","more":[]}').expect(201).then();
  expect(await slow.begun.promise).toEqual({ text: 'green' });
  await sleep(0);
  collectGarbage();
  expect(parsed).toBeInstanceOf(WeakRef);
  expect(parsed?.deref()).toBeUndefined();
  slow.end.resolve({});
  await response;
});

it('a start warns of entities that commands cannot find, and of no others', async () => {
  const warning =
    / no backup has the tables of (.*): export such classes from a file of src named \*\.entity\.ts\n/;
  expect((await start()).log.text).not.toMatch(warning);
  await service?.stop();
  // forFeature() registers entities at once, for every start from then on.
  @Module({ imports: [TypeOrmModule.forFeature([Leaf, Twig])] })
  class TwigsModule {}
  service = await Service.start({}, [TwigsModule]);
  expect(warning.exec(service.log.text)?.[1]).toBe('Leaf, Twig');
});

// The kernel seldom reports it: libuv accepts and closes such a connection with a descriptor in reserve.
it('connections that cannot be accepted are logged once, and do not end the service', async () => {
  let server: Server | undefined;
  const own = await start((app) => (server = app.getHttpServer()));
  for (let i = 0; i < 3; i++) server?.emit('error', new Error('accept EMFILE'));
  const line = ' a file descriptor for a connection (ulimit -n) is unavailable: accept EMFILE\n';
  expect(own.log.text.split(line)).toHaveLength(2);
  expect((await own.client.create({ id: 1n, name: 'oak' })).status).toBe(200);
});

it('a body that arrives in pieces while middleware waits is read whole', async () => {
  let goOn = (): void => undefined;
  const own = await start((app) =>
    app.use((_request: Request, _response: Response, next: NextFunction) => (goOn = next)),
  );
  using connection = await own.connect();
  const text = requestText(own.client.headers, EXACT);
  for (const piece of [text.slice(0, -20), text.slice(-20, -10), text.slice(-10)]) {
    connection.write(piece);
    await sleep(50);
  }
  goOn();
  expect(await connection.read()).toMatchObject({ status: 200, body: { name: 'oak' } });
});

it('a global prefix: outside it is 404, and another method within it is 405', async () => {
  const { app, client } = await start((app) => app.setGlobalPrefix('api'));
  const own = request(app.getHttpServer());
  await own.post('/api/plants').set(client.headers).send(EXACT).expect(200);
  await own.post('/plants').set(client.headers).send(EXACT).expect(404);
  await own.put('/api/plants').expect(405).expect('allow', 'POST');
});

it("AuthGuard('bearer') takes a token from the header only", async () => {
  const { app, client } = await start();
  const { authorization = '' } = client.headers;
  const own = request(app.getHttpServer());
  await own.get('/leaves').set({ authorization }).expect(200);
  await own.get(`/leaves?access_token=${authorization.slice('Bearer '.length)}`).expect(401);
});

describe('createTestingModule() and createNestApplication()', () => {
  let store: TemporaryStore;
  let app: INestApplication<Server>;
  afterEach(async () => {
    await app.close();
    await store.remove();
  });

  /** Creates the application. Returns what makes a POST of supertest, with a valid token or none. */
  async function create(
    options = {},
    prepare: (testing: TestingModuleBuilder) => void = () => undefined,
  ) {
    store = await createStore();
    const config = readConfig({ DATABASE_URL: store.url });
    const imports = [AppModule.forRoot(config)];
    const testing = Test.createTestingModule({ imports });
    prepare(testing);
    app = (await testing.compile()).createNestApplication(options);
    await app.init();
    const { secret } = await app.get(TokensService).create('test');
    const authorization = `Bearer ${secret}`;
    return (body: string, headers: object = { authorization }) =>
      request(app.getHttpServer())
        .post('/plants')
        .set({ 'content-type': 'application/json', ...headers })
        .send(body);
  }

  it.each([
    ['as they are', {}, '7', 7n],
    ['with rawBody', { rawBody: true }, '9007199254740993', 9007199254740993n],
    ['without a body parser', { bodyParser: false }, '9007199254740993', 9007199254740993n],
  ])('%s serve POST /plants to supertest', async (_name, options, literal, id) => {
    const post = await create(options);
    const body = `{"id":${literal},"name":"oak"}`;
    await post(body).expect(200, { name: 'oak' });
    expect((await store.plant(id))?.name).toBe('oak');
    await post(body, {}).expect(401).expect('www-authenticate', 'Bearer realm="plant-store"');
    const invalid = /^{"error":1003,"message":"id must be an integer [^"]+"}$/;
    await post('{"id":"x","name":"oak"}').expect(400, invalid);
    await request(app.getHttpServer())
      .get('/nowhere')
      .expect(
        404,
        /^{"error":3000,"message":"no such path: there is (.*, )?POST \/plants(, .*)?"}$/,
      );
  });

  it('overrideProvider() replaces a provider of the service', async () => {
    const closed = { create: () => Promise.reject(new GoneException('the store has closed')) };
    const post = await create({}, (testing) =>
      testing.overrideProvider(PlantsService).useValue(closed),
    );
    await post('{"id":7,"name":"oak"}').expect(410, {
      error: 3005,
      message: 'the store has closed',
    });
  });
});
