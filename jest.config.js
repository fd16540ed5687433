import { globSync, readFileSync } from 'node:fs';
import process from 'node:process';

/** Nest 12 is ESM, so the tests run as ESM too (`node --experimental-vm-modules`). */
const common = {
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testEnvironment: 'node',
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

const ON_SQLITE = {
  ...common,
  globals: { ENGINE: 'sqlite' },
  testPathIgnorePatterns: specsOnlyOn('postgres'),
};
const ON_POSTGRES = {
  ...common,
  globals: { ENGINE: 'postgres' },
  testPathIgnorePatterns: specsOnlyOn('sqlite'),
  globalSetup: '<rootDir>/test/support/start-postgres.js',
  globalTeardown: '<rootDir>/test/support/stop-postgres.js',
};

/** Folders of tests that need what not every machine has, or minutes. */
const FOLDERS = ['browser', 'cc', 'clients', 'long', 'promtool', 'systemd', 'traces'];
const EVERYWHERE = ['**/*.spec.ts', `!**/test/{${FOLDERS},proxy}/**`];
/** Tests that pass through nginx too. */
const THROUGH_PROXY = [
  '**/test/http/{body,headers,nest-requests,plants,plants-refused,routes}.e2e.spec.ts',
  '**/test/http/{plants,refused}.property.spec.ts',
  '**/test/{auth/authentication,auth/jwt-attacks,docs/docs}.e2e.spec.ts',
];

const ENGINES = [
  { ...ON_SQLITE, displayName: 'sqlite', testMatch: EVERYWHERE },
  { ...ON_POSTGRES, displayName: 'postgres', testMatch: EVERYWHERE },
];
const OTHERS = [
  ...FOLDERS.map((name) => ({
    ...ON_SQLITE,
    displayName: name,
    testMatch: [`**/test/${name}/*.spec.ts`],
  })),
  ...['long', 'traces'].map((name) => ({
    ...ON_POSTGRES,
    displayName: `${name}-postgres`,
    testMatch: [`**/test/${name}/*.spec.ts`],
  })),
  {
    ...ON_SQLITE,
    displayName: 'proxy',
    globals: { ...ON_SQLITE.globals, PROXIED: true },
    testMatch: ['**/test/proxy/!(attacks).spec.ts', ...THROUGH_PROXY],
  },
  // On their own: they measure how long a client waits.
  { ...ON_SQLITE, displayName: 'attacks', testMatch: ['**/test/proxy/attacks.spec.ts'] },
];

export default {
  // The others run only where --selectProjects names them.
  projects: process.argv.some((argument) => argument.startsWith('--selectProjects'))
    ? [...ENGINES, ...OTHERS]
    : ENGINES,
  // For tests that hang: no test is to fail because a machine is busy.
  testTimeout: 240_000,
  // More than many machines have cores: tests mostly wait, for processes and timeouts.
  maxWorkers: 4,
  // Modules are loaded anew for each file, and some outlive it.
  workerIdleMemoryLimit: '1GB',
  collectCoverageFrom: ['src/**/*.ts', '!src/**/*.spec.ts'],
  coverageReporters: ['text', 'lcov'],
  // Today's figures (npm test -- --coverage); what processes of their own run is not counted. Among the branches are those of
  // swc's helpers for decorators and `using`, in each file that has them.
  coverageThreshold: { global: { statements: 82, branches: 66, functions: 87, lines: 82 } },
};
