import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AnswerError, PlantStoreClient } from 'plant-store/client';
import { Service } from '../support/service.js';

let service: Service;
let plants: PlantStoreClient;
beforeAll(async () => {
  service = await Service.start();
  plants = new PlantStoreClient({
    baseUrl: `http://127.0.0.1:${service.port}`,
    token: service.token,
  });
});
afterAll(() => service.stop());

/** The client from its built subpath of the package. */
describe('plant-store/client', () => {
  it.each([2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, 7])(
    'stores the id %s to its last digit',
    async (id) => {
      const plant = { name: 'Alder 木', tag: '' };
      expect(await plants.createPlant({ id, ...plant })).toEqual(plant);
      expect(await service.store.plant(BigInt(id))).toEqual({ id: BigInt(id), ...plant });
    },
  );

  it('reports that the service does not use HTTPS', async () => {
    const { token } = service;
    const baseUrl = `https://127.0.0.1:${service.port}`;
    const created = new PlantStoreClient({ baseUrl, token }).createPlant({ id: 1, name: 'Alder' });
    await expect(created).rejects.toMatchObject({
      message: 'the service speaks HTTP, not HTTPS',
      tries: 1,
    });
  });

  it('reports an empty token', () => {
    const make = () => new PlantStoreClient({ baseUrl: 'http://127.0.0.1', token: '' });
    expect(make).toThrow('token is empty');
  });

  it('reports type, status, number and request id of a refusal', async () => {
    await plants.createPlant({ id: 1, name: 'Alder' });
    const refused = plants.createPlant({ id: 1, name: 'Oak' });
    await expect(refused).rejects.toBeInstanceOf(AnswerError);
    await expect(refused).rejects.toMatchObject({
      status: 400,
      error: 1004,
      message: 'the id already exists with different content',
      requestId: expect.stringMatching(/^[\da-f-]{36}$/),
    });
  });
});
