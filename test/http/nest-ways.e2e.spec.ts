/** @engine sqlite */
import { Readable } from 'node:stream';
import * as nest from '@nestjs/common';
import {
  All,
  BadRequestException,
  Catch,
  Controller,
  Get,
  GoneException,
  Header,
  HttpCode,
  HttpException,
  Injectable,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  Query,
  Redirect,
  Req,
  Res,
  StreamableFile,
  UseFilters,
  UseInterceptors,
  ValidationPipe,
  type ArgumentsHost,
  type CallHandler,
  type ExceptionFilter,
  type ExecutionContext,
  type MiddlewareConsumer,
  type NestInterceptor,
  type NestMiddleware,
  type NestModule,
  type Type,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IsString, MaxLength } from 'class-validator';
import type { NextFunction, Request, Response } from 'express';
import { map, type Observable } from 'rxjs';
import { Column, Entity, PrimaryGeneratedColumn, Repository } from 'typeorm';
import { ApiError } from '../../src/errors/error.dto.js';
import { AuthModule } from '../../src/auth/auth.module.js';
import { Authenticated } from '../../src/auth/bearer.guard.js';
import { Sender, type Principal } from '../../src/auth/principal.js';
import { JsonBody } from '../../src/http/json-body.js';
import { PlantsController } from '../../src/plants/plants.controller.js';
import { Service } from '../support/service.js';

/** A module as Nest's documentation has it, by someone who knows nothing else of the service. */

@Injectable()
class NoteMiddleware implements NestMiddleware {
  use(request: Request, response: Response, next: NextFunction): void {
    response.setHeader('x-module-middleware', `${request.method} ${request.path}`);
    next();
  }
}

@Injectable()
class WrapInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

class GlobalInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler<object>): Observable<unknown> {
    context.switchToHttp().getResponse<Response>().setHeader('x-global-interceptor', 'seen');
    const isPlant = context.getClass() === PlantsController;
    return next.handle().pipe(map((body) => (isPlant ? { ...body, global: true } : body)));
  }
}

class ControllerInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler<object>): Observable<unknown> {
    return next.handle().pipe(map((body) => ({ ...body, controller: true })));
  }
}
UseInterceptors(ControllerInterceptor)(PlantsController);

class Teapot extends Error {}

@Catch(Teapot)
class TeapotFilter implements ExceptionFilter {
  catch({ message }: Teapot, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(418).json({ teapot: message });
  }
}

class NoteDto {
  @IsString()
  @MaxLength(5)
  text!: string;
}

@Entity('notes')
class Note {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column()
  text!: string;

  @Column({ default: 7 })
  stars!: number;

  @Column('bigint', { nullable: true })
  big!: string | null;
}

/** As libraries such as express-session do, which wait for the headers. */
function wrapHead(_request: Request, response: Response, next: NextFunction): void {
  const writeHead = response.writeHead.bind(response) as (...head: unknown[]) => Response;
  response.writeHead = (...head: unknown[]) => {
    response.setHeader('x-wrapped', 'yes');
    return writeHead(...head);
  };
  next();
}

async function waitAndThrow({ query }: Request, _response: Response, next: NextFunction) {
  await Promise.resolve();
  if (query.middleware === 'throws') throw new NotFoundException('by middleware');
  next();
}

@Catch(GoneException)
class GoneFilter implements ExceptionFilter {
  catch(_error: GoneException, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(410).json({ gone: true });
  }
}

/** Nest's own exceptions that take a message, by name. */
const EXCEPTIONS = new Map(
  Object.values(nest as object)
    .filter((each) => (each as Type).prototype instanceof HttpException)
    .map((each) => [(each as Type).name, each as Type<HttpException>]),
);

const ROUTES = ['/notes', '/notes?a=1', '/notes/7', '/notes/7?a=1'];

/** What else a handler may throw, and the response. */
const FORMS: Readonly<Record<string, readonly [thrown: unknown, status: number, body: object]>> = {
  object: [
    new HttpException({ reason: 'x' }, 409),
    409,
    { error: 3005, message: 'Http Exception' },
  ],
  list: [new BadRequestException(['a', 'b']), 400, { error: 3005, message: 'a; b' }],
  error: [
    new BadRequestException(new Error('SELECT secret')),
    ...([400, { error: 3005, message: 'Bad Request' }] as const),
  ],
  nothing: [new HttpException(null as unknown as string, 400), 400, { error: 3005 }],
  'http-errors': [
    Object.assign(new Error('large'), { status: 413, statusCode: 413, expose: true }),
    ...([413, { error: 3005, message: 'large' }] as const),
  ],
  plain: [{ statusCode: 404, message: 'no note' }, 404, { error: 3005, message: 'no note' }],
  text: ['a text', 500, { error: 5000, message: 'internal error' }],
  undefined: [undefined, 500, { error: 5000, message: 'internal error' }],
};

@Controller('notes')
class NotesController {
  constructor(@InjectRepository(Note) private readonly notes: Repository<Note>) {}

  @Get()
  list(@Query() query: object, @Req() { ip, path, originalUrl }: Request) {
    return { query, ip, path, originalUrl };
  }

  @Post()
  create(@Query() query: object, @Req() request: Request) {
    return { query, agent: request.get('x-agent') };
  }

  @Get('file')
  file(): StreamableFile {
    return new StreamableFile(Readable.from(['a stream']), { type: 'text/markdown' });
  }

  @Get('nothing')
  nothing(): void {
    return undefined;
  }

  @Get('text')
  text(): string {
    return 'a text';
  }

  @Get('moved')
  @Redirect('/notes', 302)
  moved(): void {
    return undefined;
  }

  @Get('headers')
  @Header('Cache-Control', 'max-age=60')
  @HttpCode(203)
  headers(@Res({ passthrough: true }) response: Response) {
    response.cookie('a', '1').setHeader('x-mine', 'yes');
    return { isSet: true };
  }

  @Get('own')
  own(@Res() response: Response): void {
    response.status(202).json({ own: true });
  }

  @Get('gone')
  @HttpCode(204)
  gone() {
    return {};
  }

  @Get('teapot')
  @UseFilters(TeapotFilter)
  teapot(): never {
    throw new Teapot('short and stout');
  }

  @Get('fails')
  fails(): never {
    throw new Error('an inner secret');
  }

  @Get('forms/:name')
  throwForm(@Param('name') name: string): never {
    throw FORMS[name]?.[0];
  }

  @Get('answered')
  answered(@Res() response: Response): never {
    response.json({ answered: true });
    throw new Error('behind the answer');
  }

  @Get('partial')
  partial(@Res() response: Response): never {
    response.write('a part');
    throw new Error('the rest is missing');
  }

  @Get('broken')
  broken(): StreamableFile {
    async function* read() {
      await Promise.resolve();
      yield 'a part';
      throw new Error('the rest is missing');
    }
    return new StreamableFile(Readable.from(read()));
  }

  @All('all')
  all(@Req() { method }: Request) {
    return { method };
  }

  @Get('any/*path')
  any(@Param('path') path: string[]) {
    return { path };
  }

  @Post('stored')
  async store(@JsonBody() { text }: NoteDto, @Query('big') big?: string) {
    const saved = await this.notes.save({ text, ...(big && { big }) });
    const [found] = await this.notes.find({ where: { id: saved.id } });
    const [{ most } = {}] = await this.notes.query<{ most: unknown }[]>(
      'SELECT MAX(stars) AS most FROM notes',
    );
    return { saved: saved.id, found, most, count: await this.notes.count() };
  }

  @Get('throws/:name')
  throw(@Param('name') name: string): never {
    const Exception = EXCEPTIONS.get(name);
    if (Exception === undefined) throw new HttpException('mine', 499);
    throw new Exception(`why ${name}`);
  }

  @Post('valid')
  valid(@JsonBody() note: NoteDto) {
    return { isDto: note instanceof NoteDto, note };
  }

  @Post('plain')
  plain(@JsonBody(new ValidationPipe({ validateCustomDecorators: true })) note: NoteDto) {
    return { note };
  }

  @Post('mine')
  @HttpCode(200)
  @Authenticated()
  mine(@JsonBody() body: unknown, @Sender() sender: Principal) {
    return { body, sender: sender.name };
  }

  @Get(':id')
  @ApiError(400, 'invalid')
  @UseInterceptors(WrapInterceptor)
  find(@Param('id', ParseIntPipe) id: number, @Query('a') a?: string) {
    return { id, a };
  }

  @Post(':id')
  @HttpCode(200)
  change(@Param('id', ParseIntPipe) id: number, @Query('a') a?: string) {
    return { id, a };
  }
}

@Module({
  imports: [AuthModule, TypeOrmModule.forFeature([Note])],
  controllers: [NotesController],
  providers: [{ provide: APP_FILTER, useClass: GoneFilter }],
})
class NotesModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(NoteMiddleware).forRoutes(NotesController, PlantsController);
    consumer.apply(waitAndThrow).forRoutes('*path');
  }
}

const ORIGIN = 'https://garden.example';

let service: Service;
let base: string;
beforeAll(async () => {
  const env = { CORS_ORIGINS: ORIGIN, RATE_LIMIT: '1000/h' };
  service = await Service.start(env, [NotesModule], (app) => {
    app.use((_request: Request, response: Response, next: NextFunction) => {
      response.setHeader('x-app-use', 'seen');
      next();
    });
    app.use(wrapHead);
    app.useGlobalInterceptors(new GlobalInterceptor());
    app.useGlobalPipes(new ValidationPipe({ validateCustomDecorators: true, transform: true }));
  });
  base = `http://127.0.0.1:${service.port}`;
  await service.store.execute(
    'CREATE TABLE notes (id integer PRIMARY KEY, text text, stars int DEFAULT 7, big bigint)',
  );
});
afterAll(() => service.stop());

/** Sends a request; the body is parsed if it is JSON. */
async function send(method: string, path: string, init: RequestInit = {}) {
  const response = await fetch(base + path, { redirect: 'manual', ...init, method });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  const body = isJson && text !== '' ? (JSON.parse(text) as unknown) : text;
  const { status, headers } = response;
  return { status, headers: Object.fromEntries(headers), body };
}

const create = (path: string, body = '{"id":7,"name":"oak"}') =>
  send('POST', path, { headers: service.client.headers, body });

describe.each(['/plants', '/plants?a=1'])('POST %s', (path) => {
  it('passes through middleware, and its response through interceptors', async () => {
    const { status, headers, body } = await create(path);
    expect({ status, body }).toEqual({
      status: 200,
      body: { name: 'oak', controller: true, global: true },
    });
    expect(headers).toMatchObject({
      'x-app-use': 'seen',
      'x-module-middleware': 'POST /plants',
      'x-global-interceptor': 'seen',
      'x-wrapped': 'yes',
      'x-request-id': expect.any(String),
      'cache-control': 'no-store',
      ratelimit: expect.any(String),
    });
  });

  it('passes a refusal through middleware', async () => {
    const { status, headers } = await send('POST', path, { body: '{}' });
    expect(status).toBe(401);
    expect(headers).toMatchObject({ 'x-app-use': 'seen', 'x-module-middleware': 'POST /plants' });
  });
});

describe.each(['GET', 'POST'])('%s', (method) => {
  it.each(ROUTES)('%s passes through middleware and interceptors', async (path) => {
    const { headers } = await send(method, path);
    expect(headers).toMatchObject({
      'x-app-use': 'seen',
      'x-module-middleware': `${method} ${path.split('?', 1)[0]}`,
      'x-global-interceptor': 'seen',
    });
  });
});

describe('what a handler takes', () => {
  it.each([
    ['GET', '/notes', 200, { query: {}, ip: '127.0.0.1', path: '/notes', originalUrl: '/notes' }],
    [
      ...(['GET', '/notes?a=1&b=2', 200] as const),
      { query: { a: '1', b: '2' }, ip: '127.0.0.1', path: '/notes', originalUrl: '/notes?a=1&b=2' },
    ],
    ['POST', '/notes', 201, { query: {}, agent: 'me' }],
    ['POST', '/notes?a=1', 201, { query: { a: '1' }, agent: 'me' }],
    ['GET', '/notes/7', 200, { data: { id: 7 } }],
    ['GET', '/notes/7?a=1', 200, { data: { id: 7, a: '1' } }],
    ['POST', '/notes/7', 200, { id: 7 }],
    ['POST', '/notes/7?a=1', 200, { id: 7, a: '1' }],
  ])('%s %s: @Query(), @Param() with ParseIntPipe, @Req()', async (method, path, status, body) => {
    expect(await send(method, path, { headers: { 'x-agent': 'me' } })).toMatchObject({
      status,
      body,
    });
  });

  it.each(['GET', 'POST'])('ParseIntPipe refuses %s /notes/x', async (method) => {
    const message = 'Validation failed (numeric string is expected)';
    const refusal = { status: 400, body: { error: 3005, message } };
    expect(await send(method, '/notes/x')).toMatchObject(refusal);
  });

  it.each(['valid', 'plain'])('ValidationPipe on @JsonBody(): %s', async (path) => {
    const headers = { 'content-type': 'application/json' };
    const post = (body: string) => send('POST', `/notes/${path}`, { headers, body });
    expect(await post('{"text":"short"}')).toMatchObject({
      status: 201,
      body: { ...(path === 'valid' && { isDto: true }), note: { text: 'short' } },
    });
    expect(await post('{"text":"too long"}')).toMatchObject({
      status: 400,
      body: { error: 3005, message: 'text must be shorter than or equal to 5 characters' },
    });
    expect(await post('{')).toMatchObject({ status: 400, body: { error: 1000 } });
  });

  it('a repository of its own, whose integers are numbers if a double holds them', async () => {
    const headers = { 'content-type': 'application/json' };
    const post = (path: string) => send('POST', path, { headers, body: '{"text":"a"}' });
    const answer = {
      saved: 1,
      found: { id: 1, text: 'a', stars: 7, big: null },
      most: 7,
      count: 1,
    };
    expect(await post('/notes/stored')).toMatchObject({ status: 201, body: answer });
    expect(await post('/notes/stored?big=12')).toMatchObject({
      body: { saved: 2, found: { big: 12 }, count: 2 },
    });
    // JSON has no bigint, and nobody is given another number.
    expect(await post('/notes/stored?big=9007199254740993')).toMatchObject({ status: 500 });
  });

  it('a wildcard, and every method', async () => {
    expect((await send('GET', '/notes/any/a/b')).body).toEqual({ path: ['a', 'b'] });
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await send(method, '/notes/all')).body).toEqual({ method });
  });

  it('a second @Authenticated() operation', async () => {
    const body = '[1]';
    expect(await send('POST', '/notes/mine', { body })).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer realm="plant-store"' },
      body: { error: 2000 },
    });
    const before = await create('/notes/mine', body);
    expect(before).toMatchObject({ status: 200, body: { body: [1], sender: 'test' } });
    // One limit for all operations.
    const left = ({ headers }: typeof before) =>
      Number(/r=(\d+)/.exec(headers.ratelimit ?? '')?.[1]);
    expect(left(await create('/plants'))).toBe(left(before) - 1);
  });
});

describe('what a handler returns', () => {
  it.each([
    ['file', 200, 'a stream', { 'content-type': 'text/markdown' }],
    ['nothing', 200, '', {}],
    ['text', 200, 'a text', { 'content-type': 'text/html; charset=utf-8' }],
    ['gone', 204, '', {}],
    ['moved', 302, expect.any(String), { location: '/notes' }],
    [
      ...(['headers', 203, { isSet: true }] as const),
      { 'cache-control': 'max-age=60', 'x-mine': 'yes', 'set-cookie': 'a=1; Path=/' },
    ],
    ['own', 202, expect.stringMatching('{"own":true}'), {}],
  ])('GET /notes/%s: %i', async (path, status, body, headers) => {
    const answer = await send('GET', `/notes/${path}`);
    expect(answer).toMatchObject({ status, body });
    expect(answer.headers).toMatchObject({
      'x-request-id': expect.any(String),
      'x-content-type-options': 'nosniff',
      ...headers,
    });
  });
});

describe('what a handler throws', () => {
  it.each([...EXCEPTIONS].filter(([name]) => name !== 'GoneException'))(
    '%s keeps its status and message',
    async (name, Exception) => {
      const { status, body } = await send('GET', `/notes/throws/${name}`);
      const expected = new Exception('').getStatus();
      const message = expected < 500 ? `why ${name}` : 'internal error';
      expect({ status, body }).toEqual({ status: expected, body: { error: 3005, message } });
      if (expected >= 500) expect(service.log.text).toContain(`${name}: why ${name}`);
    },
  );

  it('an HttpException of any status keeps it', async () => {
    const answer = { status: 499, body: { error: 3005, message: 'mine' } };
    expect(await send('GET', '/notes/throws/other')).toMatchObject(answer);
  });

  it.each(Object.entries(FORMS))('%s', async (name, [, status, body]) => {
    expect(await send('GET', `/notes/forms/${name}`)).toMatchObject({ status, body });
  });

  it('an exception of asynchronous middleware keeps its status and message', async () => {
    const answer = { status: 404, body: { error: 3005, message: 'by middleware' } };
    expect(await send('GET', '/notes?middleware=throws')).toMatchObject(answer);
    expect(await create('/plants?middleware=throws')).toMatchObject(answer);
  });

  it('behind a response it leaves the connection open, and is in the log', async () => {
    const connection = await service.connect();
    for (const [path, text] of [
      ['answered', '{"answered":true}'],
      ['all', '{"method":"GET"}'],
    ]) {
      connection.write(`GET /notes/${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
      const answer = await connection.read({ method: 'GET', path: '/docs' });
      expect(answer).toMatchObject({ status: 200, text });
    }
    connection.close();
    expect(service.log.text).toContain('Error: behind the answer');
  });

  it.each(['partial', 'broken'])('in the middle of a body it breaks the body off: %s', (path) =>
    expect(send('GET', `/notes/${path}`)).rejects.toThrow(/^(terminated|fetch failed)$/),
  );

  it('a filter of a module responds', async () => {
    const { status, body } = await send('GET', '/notes/throws/GoneException');
    expect([status, body]).toEqual([410, expect.stringMatching('{"gone":true}')]);
  });

  it('its own exception filter responds', async () => {
    const { status, body } = await send('GET', '/notes/teapot');
    expect({ status, body: JSON.parse(String(body)) as unknown }).toEqual({
      status: 418,
      body: { teapot: 'short and stout' },
    });
  });

  it('another error is an internal error, with its reason in the log', async () => {
    const { status, body } = await send('GET', '/notes/fails');
    expect({ status, body }).toEqual({
      status: 500,
      body: { error: 5000, message: 'internal error' },
    });
    expect(service.log.text).toContain('Error: an inner secret');
  });
});

describe('the methods of a path', () => {
  it.each([
    ['DELETE', '/notes', 'GET, HEAD, POST'],
    ['PUT', '/notes/7?a=1', 'GET, HEAD, POST'],
    ['PUT', '/notes/throws/x', 'GET, HEAD'],
    ['GET', '/plants', 'POST'],
  ])('%s %s: 405, Allow: %s', async (method, path, allow) => {
    const { status, headers, body } = await send(method, path);
    const [bare] = path.split('?');
    expect({ status, allow: headers.allow, body }).toEqual({
      status: 405,
      allow,
      body: { error: 3001, message: `method not allowed: only ${allow} ${bare}; see /docs` },
    });
  });

  it.each([
    ['/notes/7', 'GET,HEAD,POST'],
    ['/plants', 'POST'],
  ])('CORS on %s: %s', async (path, methods) => {
    const headers = { origin: ORIGIN, 'access-control-request-method': 'POST' };
    const { status, ...preflight } = await send('OPTIONS', path, { headers });
    expect(status).toBe(204);
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': methods,
    });
  });

  it('HEAD of a GET', async () => {
    const { status, headers, body } = await send('HEAD', '/notes/7');
    expect({ status, length: headers['content-length'], body }).toEqual({
      status: 200,
      length: String(JSON.stringify({ data: { id: 7 } }).length),
      body: '',
    });
  });

  it('a documented 400 of a GET has no numbers of a body', async () => {
    const { body } = await send('GET', '/openapi.json');
    type Paths = Record<string, { readonly get: { readonly responses: object } }>;
    const { paths } = JSON.parse(String(body)) as { readonly paths: Paths };
    expect(paths['/notes/{id}']?.get.responses).toMatchObject({
      400: { content: { 'application/json': { examples: { BAD_REQUEST: expect.anything() } } } },
    });
    expect(JSON.stringify(paths['/notes/{id}'])).not.toContain('INVALID_JSON');
  });

  it('another path: 404', async () => {
    expect(await send('GET', '/notes/7/8')).toMatchObject({ status: 404, body: { error: 3000 } });
  });
});
