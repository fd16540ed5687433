import { All, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import { Authenticated, type AuthenticatedRequest } from '../auth/bearer.guard.js';
import { ERRORS, Fault } from '../errors/errors.js';
import { Incoming, JsonBodyPipe } from '../http/json-body.pipe.js';
import { ApiCreatePlant } from './api-docs.js';
import { NewPlantPipe } from './new-plant.pipe.js';
import { NewPlantDto, PlantDto } from './plant.dto.js';
import { PlantsService } from './plants.service.js';

@Controller('plants')
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  /** Creates a plant (interface, "POST /plants"). */
  @Post()
  @HttpCode(200)
  @Authenticated()
  @ApiCreatePlant()
  create(
    @Incoming(JsonBodyPipe, NewPlantPipe) plant: NewPlantDto,
    @Incoming() request: AuthenticatedRequest,
  ): Promise<PlantDto> {
    return this.plants.create(plant, request.user);
  }

  /** The interface has no other method here (RFC 9110, section 15.5.6). */
  @All()
  @ApiExcludeEndpoint()
  refuse(): never {
    throw new Fault(ERRORS.NO_SUCH_METHOD);
  }
}
