import { Readable } from 'node:stream';
import {
  Body,
  Controller,
  Get,
  Header,
  HttpCode,
  Param,
  ParseIntPipe,
  Post,
  Query,
  Req,
  Res,
  StreamableFile,
  UseGuards,
} from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsString, MaxLength } from 'class-validator';
import type { Request, Response } from 'express';
import { Column, Entity, PrimaryGeneratedColumn, Repository } from 'typeorm';
import { Authenticated, BODY_ERRORS } from '../../src/auth/authenticated.decorator.js';
import { BearerGuard } from '../../src/auth/bearer.guard.js';
import { RateLimitGuard } from '../../src/auth/rate-limit.guard.js';
import { CurrentPrincipal, type Principal } from '../../src/auth/principal.js';
import { RequiredScope, type Scope } from '../../src/auth/scopes.js';
import { ERRORS } from '../../src/errors/error-codes.js';
import { ParseInt64Pipe } from '../../src/http/int64.js';
import { JsonBodyGuard } from '../../src/http/json-body.js';
import { BodyPipe, IsInt64 } from '../../src/http/validators.js';
import { FORMS } from './notes.parts.js';

class NoteDto {
  @IsString()
  @MaxLength(5)
  text!: string;
}

class BigDto {
  @IsInt64()
  id!: bigint;

  @IsInt64({ isOptional: true })
  next?: bigint;
}

@Entity('notes')
export class Note {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column()
  text!: string;

  @Column({ default: 7 })
  stars!: number;

  @Column('bigint', { nullable: true })
  big!: string | null;
}

/** A controller as Nest's documentation has it, by someone who knows nothing else of the service. */
@Controller('notes')
export class NotesController {
  constructor(@InjectRepository(Note) private readonly notes: Repository<Note>) {}

  @Get()
  list(@Query() query: object, @Req() { ip, path, originalUrl }: Request) {
    return { query, ip, path, originalUrl };
  }

  @Post()
  create(@Query() query: object, @Req() request: Request) {
    return { query, agent: request.get('x-agent') };
  }

  @Get('headers')
  @Header('Cache-Control', 'max-age=60')
  @HttpCode(203)
  headers(@Res({ passthrough: true }) response: Response) {
    response.cookie('a', '1').setHeader('x-mine', 'yes');
    return { isSet: true };
  }

  @Get('forms/:name')
  throwForm(@Param('name') name: string): never {
    throw FORMS[name]?.[0];
  }

  @Get('ended')
  ended(@Res() response: Response): never {
    response.json({ ended: true });
    throw new Error('after the response');
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

  @Post('stored')
  @UseGuards(JsonBodyGuard)
  async store(@Body() { text }: NoteDto, @Query('big') big?: string) {
    const saved = await this.notes.save({ text, ...(big && { big }) });
    const [found] = await this.notes.find({ where: { id: saved.id } });
    const [{ most } = {}] = await this.notes.query<{ most: unknown }[]>(
      'SELECT MAX(stars) AS most FROM notes',
    );
    return { saved: saved.id, found, most, count: await this.notes.count() };
  }

  @Post('valid')
  @Authenticated('plants:create')
  valid(@Body(BodyPipe) note: NoteDto) {
    return { isDto: note instanceof NoteDto, note };
  }

  @Post('mine')
  @HttpCode(200)
  @Authenticated('plants:create')
  mine(@Body() body: unknown, @CurrentPrincipal() principal: Principal) {
    return { body, principal: principal.name };
  }

  @Post('other')
  @Authenticated('notes:other' as Scope)
  other() {
    return {};
  }

  @Post('unscoped')
  @UseGuards(BearerGuard)
  unscoped() {
    return {};
  }

  @Post('text')
  @HttpCode(200)
  @RequiredScope('plants:create')
  @UseGuards(BearerGuard, RateLimitGuard)
  async text(@Req() request: Request) {
    return { text: (await request.toArray()).join('') };
  }

  @Get('big/:id')
  big(@Param('id', ParseInt64Pipe) id: bigint) {
    return { id, isBig: typeof id === 'bigint' };
  }

  @Post('big')
  @HttpCode(200)
  @Authenticated('plants:create', ...BODY_ERRORS, ERRORS.NO_SUCH_PATH)
  bigBody(@Body() { id, next }: BigDto) {
    return { id, next, isBig: typeof id === 'bigint' };
  }

  @Get(':id')
  find(@Param('id', ParseIntPipe) id: number, @Query('a') a?: string) {
    return { id, a };
  }

  @Post(':id')
  @HttpCode(200)
  change(@Param('id', ParseIntPipe) id: number, @Query('a') a?: string) {
    return { id, a };
  }
}

/** A controller with a scope for its operations, of which one has another. */
@Controller('drafts')
@RequiredScope('notes:other' as Scope)
@UseGuards(BearerGuard)
export class DraftsController {
  @Post()
  create() {
    return {};
  }

  @Post('own')
  @RequiredScope('plants:create')
  own() {
    return {};
  }
}
