import { expect, it } from '@jest/globals';
import { read } from '../test/support/published.js';
import { VERSION } from './version.js';

it('is the version of package.json', () => {
  expect(JSON.parse(read('package.json'))).toMatchObject({ version: VERSION });
});
