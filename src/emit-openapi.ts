import { writeFile } from 'node:fs/promises';
import { createApp } from './app.js';
import { Config } from './config/config.js';
import { buildDocument } from './openapi/document.js';

/** Writes the published document, as the default configuration makes it, to `openapi.json`. */
const config: Config = Object.assign(new Config(), {
  databaseUrl: 'sqlite::memory:',
  logLevel: 'warn',
});
const app = await createApp(config);
await writeFile('openapi.json', `${JSON.stringify(buildDocument(app, config), null, 2)}\n`);
await app.close();
