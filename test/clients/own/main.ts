import { AnswerError, PlantStoreClient } from 'plant-store/client';

const { BASE_URL = '', TOKEN = '' } = process.env;
const plants = new PlantStoreClient({ baseUrl: BASE_URL, token: TOKEN });
const id = 9223372036854775807n;
const plant = await plants.createPlant({ id, name: 'Alder', tag: 'Alnus' });
console.log(plant.name);
try {
  await plants.createPlant({ id, name: 'Oak' });
} catch (error) {
  if (error instanceof AnswerError) console.log(error.status, error.error);
}
