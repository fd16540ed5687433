import {
  Body,
  Controller,
  HttpCode,
  Injectable,
  Module,
  Post,
  UseGuards,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthGuard, PassportStrategy } from '@nestjs/passport';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import type Database from 'better-sqlite3';
import { IsInt, IsOptional, IsString } from 'class-validator';
import { Strategy } from 'passport-http-bearer';
import { Column, Entity, PrimaryColumn, Repository, type DataSourceOptions } from 'typeorm';

/**
 * Nest with TypeORM as in its documentation. Environment: DATABASE_URL, an empty store; TOKEN, the valid token; GUARDED,
 * whether requests need it.
 */
const { DATABASE_URL = '', TOKEN, GUARDED } = process.env;

class NewPlant {
  @IsInt() id!: number;
  @IsString() name!: string;
  @IsOptional() @IsString() tag?: string;
}

@Entity('plants')
class Plant {
  @PrimaryColumn('bigint') id!: number;
  @Column('text') name!: string;
  @Column('text', { nullable: true }) tag?: string;
}

@Injectable()
class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  validate(token: string) {
    return token === TOKEN && { name: 'bench' };
  }
}

@Controller('plants')
class PlantsController {
  constructor(@InjectRepository(Plant) private readonly plants: Repository<Plant>) {}

  @Post()
  @HttpCode(200)
  @UseGuards(...(GUARDED ? [AuthGuard('bearer')] : []))
  async create(@Body() plant: NewPlant) {
    await this.plants.insert(plant);
    return { name: plant.name, tag: plant.tag };
  }
}

const store: DataSourceOptions = DATABASE_URL.startsWith('sqlite:')
  ? {
      type: 'better-sqlite3',
      database: DATABASE_URL.slice('sqlite:'.length),
      enableWAL: true,
      // A 200 is as durable as the service's.
      prepareDatabase: (database: Database.Database) => void database.pragma('synchronous = FULL'),
    }
  : { type: 'postgres', url: DATABASE_URL };

@Module({
  imports: [
    // `synchronize`, as Nest's documentation shows it: the store is new, and requests do not pay for it.
    TypeOrmModule.forRoot({ ...store, entities: [Plant], synchronize: true }),
    TypeOrmModule.forFeature([Plant]),
  ],
  controllers: [PlantsController],
  providers: [BearerStrategy],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: false });
app.useGlobalPipes(new ValidationPipe());
await app.listen(0, '127.0.0.1');
console.log(await app.getUrl());
