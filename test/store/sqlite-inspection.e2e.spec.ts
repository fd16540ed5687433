/** @engine sqlite */
import { execFileSync } from 'node:child_process';
import { linkSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readConfig } from '../../src/config/environment.js';
import { Token } from '../../src/auth/tokens/token.entity.js';
import { openStore } from '../../src/database/store.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { defineColumns, nameColumns, remakeTable, type Definitions } from '../support/columns.js';
import { listCommands } from '../support/remedy.js';
import { ServiceProcess } from '../support/service-process.js';
import { SqliteStore } from '../support/sqlite-store.js';
import { startHere } from '../support/start-here.js';

let service: ServiceProcess;
let store: SqliteStore;
beforeAll(async () => {
  service = await ServiceProcess.start({ env: { MANAGEMENT_PORT: '0' } });
  store = service.store as SqliteStore;
});
afterAll(() => service.remove());

let lastId = 0n;
const acknowledged: bigint[] = [];
async function create(): Promise<number> {
  const id = ++lastId;
  const { status } = await service.client().create({ id, name: 'oak' });
  if (status === 200) acknowledged.push(id);
  return status;
}

/** Waits for a problem of this reason, and checks that creates get 503. Returns its whole message. */
async function findProblem(reason = ''): Promise<string> {
  const problem = await service.monitor.untilProblem(reason);
  expect(await create()).toBe(503);
  return problem;
}

/** Checks that the service takes plants again, and that it has every acknowledged one. */
async function expectSound(): Promise<void> {
  await service.monitor.until(200);
  expect(await create()).toBe(200);
  expect((await store.plants()).map(({ id }) => id)).toEqual(acknowledged);
}

/** Stops the service, runs a command of the shell as its operator, and starts it again. */
async function restartBehind(command: string): Promise<void> {
  await service.stop();
  const env = { PATH: process.env.PATH, DATABASE_URL: store.url };
  execFileSync('sh', ['-c', command], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  service = await ServiceProcess.start({
    store,
    token: service.token,
    env: { MANAGEMENT_PORT: '0' },
  });
}

const KEY = { id: 'bigint PRIMARY KEY NOT NULL' };
const SHORT_NAMES = { ...KEY, name: 'varchar(3) NOT NULL' };
const FURTHER = { ...KEY, width_of_a_test: 'integer NOT NULL' };
/** Makes the table of plants again, without its key, and its rows. */
const WITHOUT_KEY = remakeTable(Plant, 'old');
const IN_CAPITALS = remakeTable(Plant, 'old', KEY).replace(/(?<=" )\w+/g, (type) =>
  type.toUpperCase(),
);
/** Puts an empty table in the place of that of plants. */
const replacePlants = (changed: Definitions) =>
  `ALTER TABLE plants RENAME TO old; CREATE TABLE plants (${defineColumns(Plant, { ...KEY, ...changed })})`;
const UNDO = 'DROP TABLE plants; ALTER TABLE old RENAME TO plants';
const UNNUMBERED = { id: 'integer UNIQUE NOT NULL' };
const VIEW = 'ALTER TABLE plants RENAME TO old; CREATE VIEW plants AS SELECT * FROM old';
const NO_KEY =
  'no unique index of plants has its key, id, alone, so that an id could be stored twice';
const MIGRATION = 'CreateBackups1795600000000';

describe('a store that is no longer what its migrations made: 503 with the reason, until it is so again', () => {
  it.each<[what: string, make: string, reason: string, undo: string]>([
    ['the key is lost', WITHOUT_KEY, NO_KEY, UNDO],
    [
      'the key is that of some rows',
      `${WITHOUT_KEY}; CREATE UNIQUE INDEX i ON plants (id) WHERE tag IS NULL`,
      NO_KEY,
      UNDO,
    ],
    [
      'the key has another column',
      `${WITHOUT_KEY}; CREATE UNIQUE INDEX i ON plants (id, name)`,
      NO_KEY,
      UNDO,
    ],
    ['the index is not unique', `${WITHOUT_KEY}; CREATE INDEX i ON plants (id)`, NO_KEY, UNDO],
    [
      'the table is made of a query',
      'ALTER TABLE plants RENAME TO old; CREATE TABLE plants AS SELECT * FROM old',
      'the column id of plants is of type INT, not bigint',
      UNDO,
    ],
    [
      'a type is another',
      remakeTable(Plant, 'old', SHORT_NAMES),
      'the column name of plants is of type varchar(3), not text',
      UNDO,
    ],
    [
      'a tag must not be null',
      replacePlants({ tag: "text NOT NULL DEFAULT ''" }),
      'the column tag of plants must have a value, which a plant may lack',
      UNDO,
    ],
    [
      'a column is generated',
      replacePlants({ name: "text AS ('elm') NOT NULL" }),
      'the column name of plants is generated',
      UNDO,
    ],
    [
      'a further column must not be null',
      replacePlants(FURTHER),
      'the column width_of_a_test of plants must have a value, which this version does not write',
      UNDO,
    ],
    [
      'a view has the name',
      VIEW,
      'plants is no ordinary table, but a view',
      'DROP VIEW plants; ALTER TABLE old RENAME TO plants',
    ],
    [
      'a virtual table has the name',
      'ALTER TABLE plants RENAME TO old; CREATE VIRTUAL TABLE plants USING fts5(id)',
      'plants is no ordinary table, but a virtual',
      UNDO,
    ],
    [
      'a table is renamed',
      'ALTER TABLE plants RENAME TO old',
      'the table plants is missing',
      'ALTER TABLE old RENAME TO plants',
    ],
    [
      'a table without an entity is renamed',
      'ALTER TABLE backups RENAME TO old',
      'the table backups is missing',
      'ALTER TABLE old RENAME TO backups',
    ],
    [
      'a column is renamed',
      'ALTER TABLE plants RENAME COLUMN tag TO label_of_a_test',
      'the column tag of plants is missing',
      'ALTER TABLE plants RENAME COLUMN label_of_a_test TO tag',
    ],
    [
      'a migration is not listed',
      `DELETE FROM plant_store_migrations WHERE name = '${MIGRATION}'`,
      `plant_store_migrations has lost the row of ${MIGRATION}`,
      `INSERT INTO plant_store_migrations (timestamp, name) VALUES (1795600000000, '${MIGRATION}')`,
    ],
    [
      'ids of tokens are not generated',
      remakeTable(Token, 'old', UNNUMBERED),
      'no unique index of tokens has its key, id, alone, so that an id could be stored twice',
      'DROP TABLE tokens; ALTER TABLE old RENAME TO tokens',
    ],
  ])('%s', async (_what, make, reason, undo) => {
    await store.execute(make);
    try {
      await findProblem(`${reason}: `);
      expect(service.output).toContain(`the store is unavailable: ${reason}: `);
    } finally {
      // The store is that of the next test too.
      await store.execute(undo);
    }
    await expectSound();
  });

  it('two tables may be the former one: both are named, also one with a comma', async () => {
    await store.execute(
      'ALTER TABLE plants RENAME TO "a, b"; CREATE TABLE c AS SELECT * FROM "a, b" WHERE false',
    );
    const several = 'the table plants is missing: give its name back to its former table, one of ';
    const problem = await findProblem(several);
    for (const one of ['"a, b"', '"c"']) expect(problem).toContain(one);
    await store.execute('DROP TABLE c');
    await findProblem('if "a, b", which has its columns, is the former one, run `BEGIN; ');
    await store.execute('ALTER TABLE "a, b" RENAME TO plants');
    await expectSound();
  });

  it('the file has a second name', async () => {
    linkSync(store.path, `${store.path}.link`);
    expect(await findProblem()).toBe(
      `${store.path} is a hard link: remove each other name that \`find / -samefile '${store.path}' ! -path '${store.path}' 2>/dev/null\` lists, but no second path to its folder, as through a mount`,
    );
    rmSync(`${store.path}.link`);
    await expectSound();
  });
});

describe('what the message says makes it right, and every plant is kept', () => {
  it.each<[what: string, make: string]>([
    ['a lost key', WITHOUT_KEY],
    [
      'a table of a query',
      'ALTER TABLE plants RENAME TO p; CREATE TABLE plants AS SELECT * FROM p; DROP TABLE p',
    ],
    ['a type', remakeTable(Plant, 'old', SHORT_NAMES)],
    ['a renamed table', 'ALTER TABLE plants RENAME TO former'],
    [
      'a view in its place',
      'ALTER TABLE plants RENAME TO former; CREATE VIEW plants AS SELECT * FROM former',
    ],
    [
      'a virtual table in its place',
      'ALTER TABLE plants RENAME TO former; CREATE VIRTUAL TABLE plants USING fts5(id)',
    ],
    [
      'a generated column of an empty table in its place',
      replacePlants({ name: "text AS ('elm') NOT NULL" }).replaceAll('old', '"the former"'),
    ],
    ['a dropped column', 'ALTER TABLE plants DROP COLUMN created_by'],
    ['a renamed table of backups', 'ALTER TABLE backups RENAME TO former'],
    ['a migration', `DELETE FROM plant_store_migrations WHERE name = '${MIGRATION}'`],
    ['the key of tokens', remakeTable(Token, 'old', UNNUMBERED)],
    [
      'a further column, which has an index',
      `${replacePlants(FURTHER)}; INSERT INTO plants (${nameColumns(Plant)}, width_of_a_test)
       SELECT ${nameColumns(Plant)}, 1 FROM old; CREATE INDEX by_width ON plants (width_of_a_test)`,
    ],
  ])('%s', async (_what, make) => {
    await store.execute(`${make}; DROP TABLE IF EXISTS old`);
    const problem = await findProblem();
    const [command = ''] = listCommands(problem);
    if (command.includes(' && ')) await restartBehind(command);
    else await store.execute(command);
    await expectSound();
    await store.execute('DROP TABLE IF EXISTS plants_unused');
  });
});

it.each([
  ['a further column', 'ALTER TABLE plants ADD COLUMN height_of_a_test integer NOT NULL DEFAULT 3'],
  [
    'indexes, a further table, and a trigger',
    `CREATE INDEX by_name ON plants (name); CREATE UNIQUE INDEX "a ""name""" ON plants (name, id); CREATE TABLE other (id integer REFERENCES plants (id));
     CREATE TRIGGER t AFTER INSERT ON plants BEGIN INSERT INTO other VALUES (NEW.id); END`,
  ],
  ['its file made anew', 'VACUUM'],
  ['types in capitals', `DROP TRIGGER t; DROP TABLE other; ${IN_CAPITALS}; DROP TABLE old`],
  [
    'names in capitals',
    `ALTER TABLE plants RENAME COLUMN name TO NAME; ALTER TABLE plants RENAME COLUMN tag TO TAG;
     ALTER TABLE plants RENAME TO old; ALTER TABLE old RENAME TO PLANTS`,
  ],
  [
    'a migration of a newer version',
    "INSERT INTO plant_store_migrations (timestamp, name) VALUES (2000000000000, 'AddNote2000000000000')",
  ],
])('a store with %s is one', async (_what, sql) => {
  await store.execute(sql);
  await using opened = await openStore(readConfig({ DATABASE_URL: store.url }), [], 'token');
  await opened.writer.inspect();
  await expectSound();
});

it('a start warns of a trigger, which may change or drop a plant', async () => {
  const own = new SqliteStore();
  expect(await startHere(own.url)).toMatchObject({ code: 0 });
  await own.execute('CREATE TRIGGER t BEFORE INSERT ON plants BEGIN SELECT RAISE(IGNORE); END');
  const { stdout } = await startHere(own.url);
  expect(stdout).toContain('the trigger t of plants can change or drop a plant that gets 200');
  await own.remove();
});
