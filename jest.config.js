import { globSync, readFileSync } from 'node:fs';

/** Nest 12 is ESM, so the tests run as ESM too (`node --experimental-vm-modules`). */
const project = {
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testEnvironment: 'node',
  // The others need what not every machine has: package.json has a script for each of these folders.
  testMatch: ['**/*.spec.ts', '!**/test/{browser,cc,clients,long,promtool,proxy,systemd}/**'],
  extensionsToTreatAsEsm: ['.ts'],
  setupFilesAfterEnv: ['<rootDir>/test/support/assert-secrecy.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '^.+\\.ts$': '@swc/jest' },
};

/** The files whose first line names this engine alone; without such a line a file runs on both. */
function specsOnlyOn(engine) {
  return globSync('{src,test}/**/*.spec.ts', { cwd: import.meta.dirname })
    .filter((path) => readFileSync(path, 'utf8').startsWith(`/** @engine ${engine} */`))
    .map((path) => `<rootDir>/${path}$`);
}

export default {
  projects: [
    {
      ...project,
      displayName: 'sqlite',
      globals: { ENGINE: 'sqlite' },
      testPathIgnorePatterns: specsOnlyOn('postgres'),
    },
    {
      ...project,
      displayName: 'postgres',
      globals: { ENGINE: 'postgres' },
      testPathIgnorePatterns: specsOnlyOn('sqlite'),
      globalSetup: '<rootDir>/test/support/start-postgres.js',
      globalTeardown: '<rootDir>/test/support/stop-postgres.js',
    },
  ],
  // For tests that hang: no test is to fail because a machine is busy.
  testTimeout: 240_000,
  // More than many machines have cores: tests mostly wait, for processes and timeouts.
  maxWorkers: 4,
  // Modules are loaded anew for each file, and some outlive it.
  workerIdleMemoryLimit: '1GB',
  collectCoverageFrom: ['src/**/*.ts', '!src/**/*.spec.ts'],
  coverageReporters: ['text', 'lcov'],
  // Today's figures (npm run test:coverage); what processes of their own run is not counted.
  coverageThreshold: { global: { statements: 81, branches: 68, functions: 86, lines: 81 } },
};
