import { Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import type { RequestSpan } from '../tracing/tracing.js';
import type { NewPlantDto } from './new-plant.dto.js';
import type { PlantDto } from './plant.dto.js';
import { PlantWriter } from './plant-writer.js';

/** The store of plants, as the interface knows it. */
@Injectable()
export class PlantsService {
  constructor(private readonly writer: PlantWriter) {}

  /**
   * Stores a plant. The promise is kept when the plant is on stable storage: written now, or
   * earlier with the same content.
   *
   * @param span the span of the request, where it is recorded
   * @throws Fault ID_TAKEN, OVERLOADED; StoreAwayError where it may not be stored; the store's error
   */
  async create(plant: NewPlantDto, principal: Principal, span?: RequestSpan): Promise<PlantDto> {
    await this.writer.write(plant, principal, span);
    const { name, tag } = plant;
    return tag === undefined ? { name } : { name, tag };
  }
}
