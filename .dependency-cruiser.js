/** The rooms of src, from the top: each imports only those above it, and itself (docs/architecture.md). */
const ROOMS = [
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
    ...ROOMS.map((room, i) => ({
      name: `${room}-imports-only-rooms-above`,
      severity: 'error',
      from: { path: `^src/${room}/` },
      to: { path: '^src/', pathNot: `^src/(${ROOMS.slice(0, i + 1).join('|')})/` },
    })),
    ...['from', 'to'].map((end) => ({
      name: 'every-folder-is-a-room',
      comment:
        'A new folder of src has its place in ROOMS, and in the table of docs/architecture.md.',
      severity: 'error',
      from: {},
      to: {},
      [end]: { path: '^src/[^/]+/', pathNot: `^src/(${ROOMS.join('|')})/` },
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
