import type { INestApplication } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Config } from '../config/config.js';
import { loadSwagger } from '../errors/documented.js';

const DESCRIPTION = `Keeps a store of plants. A client creates a plant by sending it; there is no
other operation. Every answer other than 200 has an Error body with a number that stays the same
forever.`;

const TOKENS = `A token, sent in the header \`Authorization: Bearer <ACCESS_TOKEN>\`. It is taken from that
header alone, never from a query or a body. It is one of two kinds: a token that the operator of the
service has issued, which stops working within 5 seconds when it is revoked; or, where the operator
has set an identity provider, a JSON Web Token from there, which must have the scope that the operator
demands: the answer is 403 if it has not, and never for the other kind.`;

/** Builds the OpenAPI 3.1.0 document from the decorators: the interface, version 1.0.0. */
export async function buildDocument(
  app: INestApplication,
  { publicUrl = '/' }: Config,
): Promise<OpenAPIObject> {
  const { SwaggerModule } = await loadSwagger();
  return SwaggerModule.createDocument(app, {
    openapi: '3.1.0',
    info: {
      title: 'Plant Store',
      version: '1.0.0',
      description: DESCRIPTION,
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: publicUrl }],
    tags: [{ name: 'Plants', description: 'The plants in the store' }],
    components: {
      securitySchemes: { bearerAuth: { type: 'http', scheme: 'bearer', description: TOKENS } },
    },
  });
}
