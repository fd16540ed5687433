import { All, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiBody, ApiExcludeEndpoint, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { Authenticated } from '../auth/authenticated.decorator.js';
import { ApiError } from '../errors/api-error.decorator.js';
import { ERRORS } from '../errors/errors.js';
import { Fault } from '../errors/fault.js';
import { Incoming } from '../http/incoming.decorator.js';
import { JsonTextPipe } from '../http/json-text.pipe.js';
import { NewPlantDto } from './new-plant.dto.js';
import { NewPlantPipe } from './new-plant.pipe.js';
import { PlantDto } from './plant.dto.js';
import { PlantsService } from './plants.service.js';

@Controller('plants')
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  /** Creates a plant (interface, "POST /plants"). */
  @Post()
  @HttpCode(200)
  @Authenticated()
  @ApiOperation({ operationId: 'createPlant', summary: 'Creates a new plant in the store' })
  @ApiBody({ type: NewPlantDto, required: true })
  @ApiOkResponse({ type: PlantDto, description: 'plant response' })
  @ApiError(400, 'unexpected error')
  @ApiError(500, 'internal fault')
  @ApiError(503, 'overloaded, shutting down, or the store out of reach')
  create(@Incoming(JsonTextPipe, NewPlantPipe) plant: NewPlantDto): Promise<PlantDto> {
    return this.plants.create(plant);
  }

  /** The interface has no other method here (RFC 9110, section 15.5.6). */
  @All()
  @ApiExcludeEndpoint()
  refuse(): never {
    throw new Fault(ERRORS.NO_SUCH_METHOD);
  }
}
