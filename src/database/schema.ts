import { Token } from '../auth/token.entity.js';
import { Plant } from '../plants/plant.entity.js';
import { CreatePlantsAndTokens1700000000000 } from './migrations/1700000000000-create-plants-and-tokens.js';

/** What every engine stores; migrations alone make and change the schema. */
export const SCHEMA = {
  entities: [Plant, Token],
  migrations: [CreatePlantsAndTokens1700000000000],
  synchronize: false,
};
