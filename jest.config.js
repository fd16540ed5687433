/** Nest 12 is ESM, so the tests run as ESM too (`node --experimental-vm-modules`). */
const project = {
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  setupFilesAfterEnv: ['<rootDir>/test/support/demand-secrecy.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: {
            legacyDecorator: true,
            decoratorMetadata: true,
            useDefineForClassFields: true,
          },
          target: 'es2022',
          keepClassNames: true,
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
};

/** Tests whose subject is not the store: one engine will do. */
const ANY_ENGINE = [
  '<rootDir>/src/(?!database/|auth/token)',
  '<rootDir>/src/database/sqlite',
  '<rootDir>/test/(authentication-first|body|cli-usage|contract|crash|docs|fuzz|headers)\\.',
  '<rootDir>/test/(hostile-clients|http-faults|import|jwt|log-reader|management-port|rate-limit)\\.',
  '<rootDir>/test/(changelog|links|npm-start|readme|systemd)\\.',
  '<rootDir>/test/(request-log|routes|security|shutdown|slow-clients|tls|tracing-export)\\.',
  '<rootDir>/test/(deploy|jwt|request-log|sqlite)-',
  '<rootDir>/test/support/',
];

export default {
  projects: [
    {
      ...project,
      displayName: 'sqlite',
      globals: { ENGINE: 'sqlite' },
      testMatch: ['**/*.spec.ts'],
      testPathIgnorePatterns: ['<rootDir>/test/postgres-'],
    },
    {
      ...project,
      displayName: 'postgres',
      globals: { ENGINE: 'postgres' },
      testMatch: ['**/*.spec.ts'],
      testPathIgnorePatterns: ANY_ENGINE,
      globalSetup: '<rootDir>/test/support/start-postgres.js',
      globalTeardown: '<rootDir>/test/support/stop-postgres.js',
    },
  ],
  testTimeout: 240_000,
  // Tests mostly wait for processes, each for its own.
  maxWorkers: 2,
  // Modules are loaded anew for each file, and some outlive it.
  workerIdleMemoryLimit: '1GB',
  collectCoverageFrom: ['src/**/*.ts', '!src/**/*.spec.ts'],
  coverageReporters: ['text', 'lcov'],
};
