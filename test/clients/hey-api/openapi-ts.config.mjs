export default {
  input: 'openapi.json',
  output: { path: 'generated', module: { extension: '.ts' } },
  plugins: [
    '@hey-api/client-fetch',
    '@hey-api/typescript',
    '@hey-api/sdk',
    { name: '@hey-api/transformers', bigInt: true },
  ],
};
