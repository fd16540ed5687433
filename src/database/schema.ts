import { Token } from '../auth/token.entity.js';
import { Plant } from '../plants/plant.entity.js';
import { CreatePlantsAndTokens1700000000000 } from './migrations/1700000000000-create-plants-and-tokens.js';
import { AddAuditTrailToPlants1763700000000 } from './migrations/1763700000000-add-audit-trail-to-plants.js';

/** What every engine stores; migrations alone make and change the schema. */
export const SCHEMA = {
  entities: [Plant, Token],
  migrations: [CreatePlantsAndTokens1700000000000, AddAuditTrailToPlants1763700000000],
  synchronize: false,
  // TypeORM's default writes a migration that failed to stdout; whoever ran it says so anyway.
  logger: 'debug' as const,
};
