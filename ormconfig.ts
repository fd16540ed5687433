import { DataSource } from 'typeorm';
import { readConfig } from './src/config/read-config.js';
import { engineOf } from './src/database/engine-of.js';

const config = readConfig();

/** The store that the environment names, as the service opens it: for TypeORM's own CLI. */
export default new DataSource(engineOf(config.databaseUrl).connect(config));
