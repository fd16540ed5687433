import createClient from 'openapi-fetch';
import { toJson } from './json.ts';
import type { paths } from './schema.d.ts';

const { BASE_URL = '', TOKEN = '' } = process.env;
const { POST } = createClient<paths>({
  baseUrl: BASE_URL,
  headers: { authorization: `Bearer ${TOKEN}` },
  bodySerializer: toJson,
});
const id = 9223372036854775807n;
const { data } = await POST('/plants', { body: { id, name: 'Alder', tag: 'Alnus' } });
console.log(data?.name);
const { error, response } = await POST('/plants', { body: { id, name: 'Oak' } });
console.log(response.status, error?.error);
