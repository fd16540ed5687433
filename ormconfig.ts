import { loadEnvironment, readConfig } from './src/config/environment.js';
import { loadEngine, Store } from './src/database/store.js';
import { loadEntities } from './src/database/tables.js';

loadEnvironment();
const config = readConfig();
const engine = await loadEngine(config.databaseUrl);

/** The store that the environment names, as the service opens it: for TypeORM's own CLI. */
export default new Store(engine, config, 'create', await loadEntities());
