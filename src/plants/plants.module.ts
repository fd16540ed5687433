// GroupCommit is the service. PlantsRepository writes on the WritePath: forFeature() is for autoLoadEntities alone.
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth/auth.module.js';
import { GroupCommit } from './group-commit.js';
import { Plant } from './plant.entity.js';
import { PlantsController } from './plants.controller.js';
import { PlantsRepository } from './plants.repository.js';

@Module({
  imports: [AuthModule, TypeOrmModule.forFeature([Plant])],
  controllers: [PlantsController],
  providers: [GroupCommit, PlantsRepository],
})
export class PlantsModule {}
