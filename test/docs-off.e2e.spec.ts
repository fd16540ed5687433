import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Service } from './support/service.js';

let service: Service;
beforeAll(async () => {
  service = await Service.start({ DOCS: 'off' });
});
afterAll(() => service.stop());

it.each(['/docs', '/docs/', '/docs/swagger-ui.css', '/openapi.json', '/openapi.yaml'])(
  'with DOCS=off there is no %s',
  async (path) => {
    const { status, body } = await service.client.send({ method: 'GET', path });
    expect({ status, body }).toEqual({
      status: 404,
      body: { error: 3000, message: 'no such path' },
    });
  },
);

it('with DOCS=off plants are taken all the same', async () => {
  const { status, body } = await service.client.create({ id: 1n, name: 'oak' });
  expect({ status, body }).toEqual({ status: 200, body: { name: 'oak' } });
});
