import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { MIGRATIONS } from '../../src/database/schema.js';
import { untilEnd, type Ran } from './cli.js';
import { store } from './own.js';

/** The names of all migrations, in order. */
export const NAMES = MIGRATIONS.map(({ name }) => name);

/** What `migration:show` prints if all of them have the same mark. */
export const show = (mark: string) => NAMES.map((name) => `[${mark}] ${name}\n`).join('');

/** Runs a command of TypeORM on the test's store, as `npm run typeorm` does. */
export async function typeorm(line: string): Promise<Ran> {
  const program = [resolve('node_modules/typeorm/cli.js'), '-d', resolve('dist/ormconfig.js')];
  const env = { PATH: process.env.PATH, DATABASE_URL: store.url };
  return untilEnd(
    spawn(process.execPath, [...program, ...line.split(' ')], { cwd: store.folder, env }),
  );
}
