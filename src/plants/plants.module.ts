import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth/auth.module.js';
import { WritePath } from '../database/engine.js';
import { GroupCommitter } from './group-committer.js';
import { Plant } from './plant.entity.js';
import { PlantsController } from './plants.controller.js';
import { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

@Module({
  imports: [AuthModule, TypeOrmModule.forFeature([Plant])],
  controllers: [PlantsController],
  providers: [
    GroupCommitter,
    PlantsService,
    {
      provide: PlantsRepository,
      inject: [WritePath],
      useFactory: ({ manager }: WritePath) =>
        new PlantsRepository(Plant, manager, manager.queryRunner),
    },
  ],
})
export class PlantsModule {}
