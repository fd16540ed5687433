export default {
  plants: {
    input: 'openapi.json',
    output: {
      target: 'generated.ts',
      client: 'axios-functions',
      override: {
        useBigInt: true,
        mutator: { path: 'request.ts', name: 'request', extension: '.ts' },
      },
    },
  },
};
