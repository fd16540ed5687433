import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cli, createTarget } from '../cli/backups.js';
import { runHere } from '../support/cli.js';
import { contract, read } from '../support/published.js';
import { Service } from '../support/service.js';

type Schema = { readonly properties: Readonly<Record<string, { readonly type: string }>> };
type Fields = Readonly<Record<string, unknown>>;

const { schemas } = contract.components as { schemas: Readonly<Record<'NewPlant', Schema>> };
const { properties } = schemas.NewPlant;
/** The fields of a plant's content: every one that the contract has. */
const FIELDS = Object.keys(properties).filter((field) => field !== 'id');
/** A value of each type of JSON that a field may have. */
const VALUES: Fields = { string: '木 "1"', integer: 7, number: 7.5, boolean: true };
const OTHERS: Fields = { string: 'other', integer: 8, number: 8.5, boolean: false };

const content = (values: Fields) =>
  Object.fromEntries(FIELDS.map((field) => [field, values[properties[field]?.type ?? '']]));
const WHOLE = content(VALUES);

let service: Service;
beforeAll(async () => {
  service = await Service.start();
  await service.client.create({ id: 1n, name: '', ...WHOLE });
});
afterAll(() => service.stop());

const create = (fields: Fields) => service.client.post(JSON.stringify({ id: 1, ...fields }));

/** docs: CONTRIBUTING.md, "A new field of a plant". */
describe('every field of the contract', () => {
  it('is stored and returned, and a repeat is recognised', async () => {
    expect(await create(WHOLE)).toMatchObject({ status: 200, body: WHOLE });
  });

  it.each(FIELDS)('%s is compared with what is stored', async (field) => {
    const { status, body } = await create({ ...WHOLE, [field]: content(OTHERS)[field] });
    expect({ status, body }).toMatchObject({ status: 400, body: { error: 1004 } });
  });

  it.each(FIELDS)('%s is validated', async (field) => {
    const { status, body } = await create({ ...WHOLE, [field]: null });
    const message = expect.stringMatching(new RegExp(`^${field} must `));
    expect({ status, body }).toEqual({ status: 400, body: { error: 1003, message } });
  });

  it('is sent by import, and none is ignored', async () => {
    const { store, port, token } = service;
    const input = JSON.stringify({ id: 1, ...WHOLE });
    const args = ['import', '-', '--strict', '--url', `http://127.0.0.1:${port}`, '--token', token];
    expect(await runHere(args, { cwd: store.folder, input })).toMatchObject({ code: 0 });
  });

  it('is exported, backed up and restored', async () => {
    const exported = await cli(service.store, 'export');
    expect(JSON.parse(exported.stdout)).toEqual({ id: 1, ...WHOLE });
    const backup = join(service.store.folder, 'backup.sqlite');
    expect(await cli(service.store, `backup ${backup}`)).toMatchObject({ code: 0 });
    const target = await createTarget();
    expect(await cli(target, `restore ${backup}`)).toMatchObject({ code: 0 });
    expect(await cli(target, 'export')).toEqual(exported);
    await target.remove();
  });

  it.each(FIELDS)('%s is described in docs/api.md', (field) => {
    expect(read('docs/api.md')).toMatch(new RegExp(`^(- |.* and )\`${field}\`, `, 'm'));
  });
});
