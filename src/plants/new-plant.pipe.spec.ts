/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { parseJson } from '../http/json-body.js';
import { NewPlantPipe } from './new-plant.pipe.js';

const parseNewPlant = (text: string) => new NewPlantPipe().transform(parseJson(Buffer.from(text)));

// What it accepts, refuses and makes of a body: test/http/plants.
describe('NewPlantPipe', () => {
  it.each([
    ['null', 'null', 'null'],
    ['true', 'true', 'true'],
    ['"7"', 'the string "7"', ''],
    [`"${'7'.repeat(50)}"`, `the string "${'7'.repeat(40)}"...`, ''],
    [`"${'7'.repeat(39)}🌵"`, `the string "${'7'.repeat(39)}"...`, ''],
    [`"plant_${'aB3'.repeat(13)}"`, 'the string "[redacted]"', ''],
    ['1.5', '1.5', '1.5'],
    ['9223372036854775808', '9223372036854775808', '9223372036854775808'],
    ['[7]', 'an array', 'an array'],
    ['{"id":7}', 'an object', 'an object'],
  ])('says that it was sent %s', (value, asId, asName) => {
    const id = `id must be an integer from -2^63 to 2^63-1, not ${asId}`;
    const name = asName === '' ? '' : `; name must be a string, not ${asName}`;
    const parse = () => parseNewPlant(`{"id":${value},"name":${value}}`);
    expect(parse).toThrow(new Error(`${id}${name}`));
  });

  it('reads an id after 1 MB of escapes, the longest body that can be configured', () => {
    const name = 'a\n'.repeat((2 ** 20 - 50) / 3);
    const text = JSON.stringify({ name, id: 7 }).replace(':7}', ':7.0}');
    expect(parseNewPlant(text).id).toBe(7n);
  });
});
