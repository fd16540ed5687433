import { client } from './generated/client.gen.ts';
import { createPlant } from './generated/sdk.gen.ts';
import type { NewPlant } from './generated/types.gen.ts';
import { BASE_URL, describe, fetchAgain, TOKEN, toJson } from './http.ts';

client.setConfig({ baseUrl: BASE_URL, auth: TOKEN, bodySerializer: toJson, fetch: fetchAgain });

async function create(plant: NewPlant): Promise<void> {
  const { data, error, response } = await createPlant({ body: plant });
  if (!response) throw error;
  console.log(data?.name ?? describe(response.status, error));
}

const id = 9223372036854775043n;
await create({ id, name: 'Alder', tag: 'Alnus' });
await create({ id, name: 'Oak' });
