import { Body, Controller, HttpCode, Module, Post, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { IsInt, IsOptional, IsString } from 'class-validator';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';

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

@Controller('plants')
class PlantsController {
  constructor(@InjectRepository(Plant) private readonly plants: Repository<Plant>) {}

  @Post()
  @HttpCode(200)
  async create(@Body() plant: NewPlant) {
    await this.plants.insert(plant);
    return { name: plant.name, tag: plant.tag };
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL ?? '',
      entities: [Plant],
      // As in Nest's documentation. The database is new, and requests do not pay for it.
      synchronize: true,
    }),
    TypeOrmModule.forFeature([Plant]),
  ],
  controllers: [PlantsController],
})
class AppModule {}

/** Nest with TypeORM as in its documentation. Environment: DATABASE_URL, an empty database. */
const app = await NestFactory.create(AppModule, { logger: false });
app.useGlobalPipes(new ValidationPipe());
await app.listen(0, '127.0.0.1');
console.log(await app.getUrl());
