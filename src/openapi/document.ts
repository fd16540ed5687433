import type { INestApplication } from '@nestjs/common';
import { SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { formatUrl, type Config } from '../config/config.js';

const SERVICE_DESCRIPTION = `Keeps a store of plants. Every response other than 200 has an Error body with a \
number that stays the same forever.`;

const TOKEN_DESCRIPTION = `Paste the token alone. A client sends it as \`Authorization: Bearer <ACCESS_TOKEN>\`, \
never in a query or a body. It comes from the operator of the service, or is a JSON Web Token of the identity \
provider that the operator has set, with the scope that the operator demands: without it, the response is 403.`;

/** Builds the OpenAPI 3.1.0 document from the decorators. */
export function buildDocument(app: INestApplication, config: Config): OpenAPIObject {
  return SwaggerModule.createDocument(app, {
    openapi: '3.1.0',
    info: {
      title: 'Plant Store',
      // This is the version of the interface (contract/openapi.yaml), which is not that of the service.
      version: '1.0.0',
      description: SERVICE_DESCRIPTION,
      contact: { name: 'The operator of the service' },
      license: { name: 'MIT License', url: 'https://opensource.org/license/mit' },
    },
    servers: listServers(config),
    tags: [{ name: 'Plants', description: 'The plants in the store' }],
    components: {
      securitySchemes: {
        bearerAuth: { type: 'http', scheme: 'bearer', description: TOKEN_DESCRIPTION },
      },
    },
  });
}

/** Programs that import the document use the first server, which is absolute; the page uses the last, by default its host. */
function listServers(config: Config): { url: string; description?: string }[] {
  const { publicUrl, scheme, host, port } = config;
  if (publicUrl !== undefined) return [{ url: publicUrl }];
  const url = formatUrl(scheme, host, port);
  return [
    { url, description: 'the address that the service listens on' },
    { url: '/', description: 'the host of this document' },
  ];
}
