// A create, step 8 of 13: has the plant committed, then returns it as the response's body (step 12).
import { Controller, HttpCode, Post } from '@nestjs/common';
import { Authenticated } from '../auth/bearer.guard.js';
import { Sender, type Principal } from '../auth/principal.js';
import { JsonText } from '../http/json-body.js';
import { ApiCreatePlant } from './api-docs.js';
import { GroupCommit } from './group-commit.js';
import { NewPlantPipe } from './new-plant.pipe.js';
// A type alone: a global ValidationPipe, if one is ever added, then leaves the body to NewPlantPipe.
import type { NewPlantDto } from './plant.dto.js';
import { toEntity, toPlantDto, type PlantDto } from './plant.dto.js';

@Controller('plants')
export class PlantsController {
  constructor(private readonly groups: GroupCommit) {}

  /**
   * Creates a plant (contract/openapi.yaml). Resolves once it is durable: written now, or earlier with the same
   * content.
   */
  @Post()
  @HttpCode(200)
  @Authenticated()
  @ApiCreatePlant()
  async create(
    @JsonText(NewPlantPipe) plant: NewPlantDto,
    @Sender() sender: Principal,
  ): Promise<PlantDto> {
    await this.groups.commit(toEntity(plant, sender.id));
    return toPlantDto(plant);
  }
}
