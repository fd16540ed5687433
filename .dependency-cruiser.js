/** The folders of src, from the top: each imports only those above it, and itself (docs/architecture.md). */
const FOLDERS = [
  'config',
  'errors',
  'database',
  'http',
  'auth',
  'plants',
  'openapi',
  'lifecycle',
  'telemetry',
  'management',
  'cli',
];

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-circle',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...FOLDERS.map((folder, i) => ({
      name: `${folder}-imports-only-folders-above`,
      severity: 'error',
      from: { path: `^src/${folder}/` },
      to: { path: '^src/', pathNot: `^src/(${FOLDERS.slice(0, i + 1).join('|')})/` },
    })),
    ...['from', 'to'].map((end) => ({
      name: 'every-folder-has-its-layer',
      comment:
        'A new folder of src has its place in FOLDERS, and in the table of docs/architecture.md.',
      severity: 'error',
      from: {},
      to: {},
      [end]: { path: '^src/[^/]+/', pathNot: `^src/(${FOLDERS.join('|')})/` },
    })),
    {
      name: 'telemetry-only-looks-on',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/((telemetry|management)/|[^/]+$)' },
      to: { path: '^src/telemetry/' },
    },
    {
      name: 'production-dependencies-only',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-optional', 'npm-no-pkg', 'npm-unknown'] },
    },
    { name: 'nothing-missing', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '\\.spec\\.ts$' },
  },
};
