import { createPlant } from './generated.ts';
import { RequestError } from './request.ts';

const id = 9223372036854775807n;
const { name } = await createPlant({ id, name: 'Alder', tag: 'Alnus' });
console.log(name);
try {
  await createPlant({ id, name: 'Oak' });
} catch (error) {
  if (error instanceof RequestError) console.log(error.status, error.body.error);
}
