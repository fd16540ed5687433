import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import type { Config } from '../config/config.js';

/** Builds the OpenAPI 3.1.0 document from the decorators: the interface, version 1.0.0. */
export function buildDocument(app: INestApplication, { publicUrl = '/' }: Config): OpenAPIObject {
  const head = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Plant Store')
    .setDescription('Keeps a store of plants.')
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addServer(publicUrl)
    .addSecurity('bearerAuth', { type: 'http', scheme: 'bearer' })
    .build();
  return SwaggerModule.createDocument(app, head);
}
