import { DataSource } from 'typeorm';
import { Token } from './src/auth/token.entity.js';
import { loadEnvironment, readConfig } from './src/config/environment.js';
import { engineOf } from './src/database/open-store.js';
import { Plant } from './src/plants/plant.entity.js';

loadEnvironment();
const config = readConfig();

/** The store that the environment names, as the service opens it: for TypeORM's own CLI. */
export default new DataSource({
  ...engineOf(config.databaseUrl).connect(config),
  entities: [Plant, Token],
});
