import { Body, Controller, HttpCode, Post, UseGuards } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { Authenticated, BODY_ERRORS, RESPONSE_HEADERS } from '../auth/authenticated.decorator.js';
import { CurrentPrincipal, type Principal } from '../auth/principal.js';
import { ERRORS } from '../errors/error-codes.js';
import { NewPlantPipe } from './new-plant.pipe.js';
import { OverloadGuard } from './overload.guard.js';
import { NewPlantDto, PlantDto } from './plant.dto.js';
import { PlantsService } from './plants.service.js';

const CREATE_DESCRIPTION = `Stores a plant under its id and responds with the plant, without the id.

A 200 means that the plant is on stable storage; it is never sent earlier. If the connection broke, send the \
same plant again: if it is stored, the response is 200 and nothing is written twice. The same id with different \
content is a 400, and the stored plant stays as it is. A request that was refused has stored nothing.

A 400 means that the request must be corrected before it is sent again: \`error\` says what is wrong, \
\`message\` says where. Every number of \`error\` is in the schema Error.

Every int64 is an id, kept to its last digit. JavaScript is less exact: there a number beyond 2^53 loses digits \
before it is sent, and a generated TypeScript client mostly has \`id: number\`. Write the digits of such an id into \
the body: \`{"id": 9007199254740993, "name": "Common alder"}\`. Text is kept exactly; U+0000 or an unpaired surrogate \
in it is refused. Other fields are ignored, even a misspelt \`tag\`: its text is lost for good, as a plant cannot be \
changed.`;

const makeExamples = (tagged: object, untagged: object) => ({
  tagged: { summary: 'A plant with a tag', value: tagged },
  untagged: { summary: 'A plant without a tag', value: untagged },
});
const TAGGED = { name: 'Common alder', tag: 'Alnus glutinosa' };
const UNTAGGED = { name: 'Black alder' };

@Controller('plants')
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Post()
  @HttpCode(200)
  @Authenticated('plants:create', ...BODY_ERRORS, ERRORS.INVALID_PLANT, ERRORS.ID_TAKEN)
  // Runs before the guard above it: decorators of a method are applied from the last to the first.
  @UseGuards(OverloadGuard)
  @ApiOperation({
    operationId: 'createPlant',
    summary: 'Creates a new plant in the store',
    description: CREATE_DESCRIPTION,
  })
  @ApiBody({
    type: NewPlantDto,
    examples: makeExamples({ id: 3, ...TAGGED }, { id: 1001, ...UNTAGGED }),
  })
  @ApiOkResponse({
    type: PlantDto,
    description: 'plant response',
    headers: RESPONSE_HEADERS,
    examples: makeExamples(TAGGED, UNTAGGED),
  })
  create(
    @Body(NewPlantPipe) plant: NewPlantDto,
    @CurrentPrincipal() principal: Principal,
  ): Promise<PlantDto> {
    return this.plants.create(plant, principal);
  }
}
