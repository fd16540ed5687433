/** A plant as it is sent, where ids fit a double. */
export interface NewPlant {
  id: number;
  name: string;
  tag?: string;
}

const name = { type: 'string' };
const tag = { type: 'string' };

/** The request and its answer, as Fastify wants them described. */
export const PLANT_SCHEMA = {
  body: {
    type: 'object',
    properties: { id: { type: 'integer' }, name, tag },
    required: ['id', 'name'],
  },
  response: { 200: { type: 'object', properties: { name, tag } } },
};
