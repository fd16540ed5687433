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

/** What differs between the engines: src/database/engine.ts is their interface. */
const ENGINES = '^src/database/(sqlite|postgres)/';

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
      name: 'engines-by-their-interface',
      comment:
        'Only store.ts loads an engine, when DATABASE_URL names it: the driver of the other one may be missing.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/database/((sqlite|postgres)/|store\\.ts$)' },
      to: { path: ENGINES },
    },
    {
      name: 'engines-loaded-when-named',
      severity: 'error',
      from: { path: '^src/database/store\\.ts$' },
      to: { path: ENGINES, dynamic: false },
    },
    {
      name: 'engines-loaded-as-a-whole',
      severity: 'error',
      from: { path: '^src/database/store\\.ts$' },
      to: { path: ENGINES, pathNot: '-engine\\.ts$' },
    },
    {
      name: 'engines-know-nothing-of-each-other',
      severity: 'error',
      from: { path: '^src/database/(sqlite|postgres)/' },
      to: { path: ENGINES, pathNot: '^src/database/$1/' },
    },
    {
      name: 'telemetry-only-looks-on',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(telemetry/|[^/]+$)' },
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
