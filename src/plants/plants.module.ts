import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { GroupCommitter } from './group-committer.js';
import { PlantWriter } from './plant-writer.js';
import { PlantsController } from './plants.controller.js';
import { PlantsService } from './plants.service.js';

@Module({
  imports: [AuthModule],
  controllers: [PlantsController],
  providers: [GroupCommitter, PlantsService, PlantWriter],
})
export class PlantsModule {}
