import { Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { GroupCommit } from './group-commit.js';
import { toEntity, toPlantDto, type NewPlantDto, type PlantDto } from './plant.dto.js';

@Injectable()
export class PlantsService {
  constructor(private readonly groupCommit: GroupCommit) {}

  /** Resolves once the plant is durable: written now, or earlier. @throws as {@link GroupCommit.commit} */
  async create(plant: NewPlantDto, principal: Principal): Promise<PlantDto> {
    await this.groupCommit.commit(toEntity(plant, principal.id));
    return toPlantDto(plant);
  }
}
