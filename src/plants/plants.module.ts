import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth/auth.module.js';
import { Plant } from './plant.entity.js';
import { PlantWriter } from './plant-writer.js';
import { PlantsController } from './plants.controller.js';
import { PlantsService } from './plants.service.js';

@Module({
  imports: [AuthModule, TypeOrmModule.forFeature([Plant])],
  controllers: [PlantsController],
  providers: [PlantsService, PlantWriter],
})
export class PlantsModule {}
