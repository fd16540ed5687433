import { afterEach, expect, it } from '@jest/globals';
import { Service } from './support/service.js';

let service: Service;
afterEach(() => service.store.remove());

it('the store knows when a token was last used, at the latest once the service has ended', async () => {
  service = await Service.start();
  await service.client.post('{"id":1,"name":"oak"}');
  const before = Date.now();
  await service.client.post('{"id":2,"name":"oak"}');
  const after = Date.now();
  service.client.close();
  await service.app.close();
  const [token] = await service.store.rows<{ last_used_at: bigint }>(
    'SELECT last_used_at FROM tokens',
  );
  expect(Number(token?.last_used_at)).toBeGreaterThanOrEqual(before);
  expect(Number(token?.last_used_at)).toBeLessThanOrEqual(after);
});

it('a token that was never used has no such time', async () => {
  service = await Service.start();
  await service.client.send({ headers: {}, body: '{"id":1,"name":"oak"}' });
  service.client.close();
  await service.app.close();
  expect(await service.store.rows('SELECT last_used_at FROM tokens')).toEqual([
    { last_used_at: null },
  ]);
});
