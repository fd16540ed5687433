/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { read } from '../../test/support/published.js';
import { Config, VARIABLES, VERSION } from './config.js';
import { inspectConfig, readConfig } from './environment.js';

const NAMES = Object.values(VARIABLES).map(({ name }) => name);
const ROW = /^\| `([A-Z_]+)` +\| +(?:`(.*?)`)? +\| (.+) \|$/gm;

describe('docs/configuration.md', () => {
  const rows = [...read('docs/configuration.md').matchAll(ROW)];

  it('lists every variable in the order of the configuration', () => {
    expect(rows.map(([, name]) => name)).toEqual(NAMES);
  });

  it.each(rows.map(([, name = '', value = '']) => ({ name, value })))(
    '$name is "$value" by default',
    ({ name, value }) => {
      const setting = inspectConfig({}).settings.find((one) => one.name === name);
      expect(setting).toEqual({ name, value, from: 'default' });
      expect(readConfig({ [name]: value })).toEqual(new Config());
    },
  );
});

const lines = [...read('.env.example').matchAll(/^([A-Z_]+)=(.*)$/gm)];

it('.env.example has every variable, and its default', () => {
  expect(lines.map(([, name]) => name)).toEqual(NAMES);
  expect(
    readConfig(Object.fromEntries(lines.map(([, name = '', value = '']) => [name, value]))),
  ).toEqual(readConfig({}));
});

it('VERSION is that of package.json', () => {
  expect(JSON.parse(read('package.json'))).toMatchObject({ version: VERSION });
});
