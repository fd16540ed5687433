import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth/auth.module.js';
import { GroupCommit } from './group-commit.js';
import { Plant } from './plant.entity.js';
import { PlantsController } from './plants.controller.js';
import { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

@Module({
  // forFeature() registers the entity.
  imports: [AuthModule, TypeOrmModule.forFeature([Plant])],
  controllers: [PlantsController],
  providers: [PlantsService, GroupCommit, PlantsRepository],
})
export class PlantsModule {}
