import { Injectable } from '@nestjs/common';
import type { Principal } from '../auth/token-verifier.js';
import { GroupCommit } from './group-commit.js';
import { toEntity, toPlantDto, type NewPlantDto, type PlantDto } from './plant.dto.js';

@Injectable()
export class PlantsService {
  constructor(private readonly groups: GroupCommit) {}

  /**
   * Stores a plant and returns it as it is answered, once it is durable: written now, or earlier with the same content.
   *
   * @throws Fault ID_TAKEN, OVERLOADED; StoreUnavailable if the plant may not be stored; the store's error
   */
  async create(plant: NewPlantDto, principal: Principal): Promise<PlantDto> {
    await this.groups.store(toEntity(plant, principal.id));
    return toPlantDto(plant);
  }
}
