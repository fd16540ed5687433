import { options } from './options.js';

await import(`./${options.subject}.js`);
