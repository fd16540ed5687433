import { createPlant, type NewPlant } from './generated.ts';
import { describe } from './http.ts';
import { RequestError } from './request.ts';

async function create(plant: NewPlant): Promise<void> {
  try {
    console.log((await createPlant(plant)).name);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    console.log(describe(error.status, error.body));
  }
}

const id = 9223372036854775044n;
await create({ id, name: 'Alder', tag: 'Alnus' });
await create({ id, name: 'Oak' });
