import createClient from 'openapi-fetch';
import { BASE_URL, describe, fetchAgain, TOKEN, toJson } from './http.ts';
import type { components, paths } from './schema.d.ts';

const { POST } = createClient<paths>({
  baseUrl: BASE_URL,
  headers: { authorization: `Bearer ${TOKEN}` },
  bodySerializer: toJson,
  fetch: fetchAgain,
});

async function create(plant: components['schemas']['NewPlant']): Promise<void> {
  const { data, error, response } = await POST('/plants', { body: plant });
  console.log(data?.name ?? describe(response.status, error));
}

const id = 9223372036854775042n;
await create({ id, name: 'Alder', tag: 'Alnus' });
await create({ id, name: 'Oak' });
