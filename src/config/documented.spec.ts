import { describe, expect, it } from '@jest/globals';
import { read } from '../../test/support/published.js';
import { Config, VERSION } from './config.js';
import { readConfig } from './read-config.js';
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
      const { field, parser } = VARIABLES.find((variable) => variable.name === name) ?? {};
      const byDefault = Object.entries(new Config()).find(([key]) => key === field)?.[1] as unknown;
      if (value === undefined) expect([undefined, false, [], {}]).toContainEqual(byDefault);
      else expect(parser?.parse(value)).toEqual(byDefault);
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
