import { client } from './generated/client.gen.ts';
import { createPlant } from './generated/sdk.gen.ts';
import { toJson } from './json.ts';

const { BASE_URL = '', TOKEN = '' } = process.env;
client.setConfig({ baseUrl: BASE_URL, auth: TOKEN, bodySerializer: toJson });
const id = 9223372036854775807n;
const { data } = await createPlant({ body: { id, name: 'Alder', tag: 'Alnus' } });
console.log(data?.name);
const { error, response } = await createPlant({ body: { id, name: 'Oak' } });
console.log(response?.status, error?.error);
