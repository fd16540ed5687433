import { writeFile } from 'node:fs/promises';
import { createApp } from './app.module.js';
import { Config } from './config/config.js';
import { buildDocument } from './openapi/document.js';

/** Writes the published document, as the default configuration makes it, to `openapi.json`. Opens no store. */
const config: Config = Object.assign(new Config(), { logLevel: 'error' });
const app = await createApp(config, undefined, { preview: true });
const document = buildDocument(app, config);
// Strict tools cannot read a relative server, which has no meaning in a file.
document.servers?.splice(1);
await writeFile('openapi.json', `${JSON.stringify(document, null, 2)}\n`);
