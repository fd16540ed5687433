/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { read } from '../../test/support/published.js';
import { Config, VERSION } from './config.js';
import { readConfig } from './read-config.js';
import { defaultOf } from './settings.js';
import { VARIABLES } from './variable.js';

const NAMES = VARIABLES.map(({ name }) => name);
const ROW = /^\| `([A-Z_]+)` +\| +(?:`(.*?)`)? +\| (.+) \|$/gm;

describe('docs/configuration.md', () => {
  const rows = [...read('docs/configuration.md').matchAll(ROW)];

  it('has every variable in its table, in the order of the configuration', () => {
    expect(rows.map(([, name]) => name)).toEqual(NAMES);
  });

  it.each(rows.map(([, name = '', value]) => [name, value]))(
    '%s is %j by default',
    (name, value) => {
      const variable = VARIABLES.find((one) => one.name === name);
      expect(variable && defaultOf(variable)).toBe(value ?? '');
      const byDefault = new Map<string, unknown>(Object.entries(new Config()));
      const { field = '', parser } = variable ?? {};
      if (value !== undefined) expect(parser?.parse(value)).toEqual(byDefault.get(field));
    },
  );
});

describe('.env.example', () => {
  const lines = [...read('.env.example').matchAll(/^([A-Z_]+)=(.*)$/gm)];

  it('has every variable, and its default', () => {
    expect(lines.map(([, name]) => name)).toEqual(NAMES);
    expect(
      readConfig(Object.fromEntries(lines.map(([, name = '', value = '']) => [name, value]))),
    ).toEqual(readConfig({}));
  });
});

it('VERSION is that of package.json', () => {
  expect(JSON.parse(read('package.json'))).toMatchObject({ version: VERSION });
});
