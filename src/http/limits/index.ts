/**
 * What one client, and all together, may hold and have served (docs/configuration.md, "Limits"). The door of the folder:
 * a `Connection` bounds its requests in number, `Reading` what it takes to read them, `memory.ts` counts their bytes, and
 * `Connections` share out memory, files and time.
 */
export {
  findConnection,
  getConnection,
  MAX_REQUESTS,
  MAX_WITHOUT_TOKEN,
  type Connection,
} from './connection.js';
export { Connections } from './connections.js';
