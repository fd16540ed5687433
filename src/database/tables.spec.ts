import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  ViewEntity,
  ViewColumn,
} from 'typeorm';
import { makeStore, store as temporary } from '../../test/support/own.js';
import { readConfig } from '../config/environment.js';
import { openStore, type Store } from './store.js';
import { listTables } from './tables.js';

@Entity('beds')
class Bed {
  @PrimaryColumn({ type: 'text' })
  key!: string;

  /** As an alias in SQL that is made of the columns could be called. */
  @Column({ type: 'boolean', nullable: true })
  sound!: boolean | null;

  @Column({ type: 'bigint', nullable: true })
  lines!: string | null;
}

const DEFERRED = { deferrable: 'INITIALLY DEFERRED' } as const;

@Entity('gardens')
class Garden {
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @ManyToOne(() => Leaf)
  @JoinColumn({ name: 'leaf' })
  leaf!: unknown;
}

@Entity('leaves')
class Leaf {
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @ManyToOne(() => Garden, DEFERRED)
  @JoinColumn({ name: 'garden' })
  garden!: unknown;

  @ManyToOne(() => Leaf, DEFERRED)
  @JoinColumn({ name: 'parent' })
  parent!: unknown;
}

@Entity('people')
class Person {
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @ManyToOne(() => Person)
  @JoinColumn({ name: 'parent' })
  parent!: unknown;
}

@Entity('dates')
class WithDate {
  @PrimaryColumn({ type: 'text' })
  id!: string;

  @Column()
  at!: Date;
}

@Entity('pairs')
class Pair {
  @PrimaryColumn({ type: 'text' })
  one!: string;

  @PrimaryColumn({ type: 'text' })
  other!: string;
}

@ViewEntity({ name: 'seen', expression: 'SELECT 1 AS one' })
class Seen {
  @ViewColumn()
  one!: number;
}

makeStore();
let store: Store;
const open = async (...entities: (abstract new () => unknown)[]) =>
  (store = await openStore(readConfig({ DATABASE_URL: temporary.url }), entities as never));
beforeEach(() => open(Bed));
afterEach(() => store.destroy());

/** Opens it again, with other entities. */
async function reopen(...entities: (abstract new () => unknown)[]): Promise<Store> {
  await store.destroy();
  return open(...entities);
}

describe('listTables()', () => {
  it('has a table behind those that it refers to, even in a circle, and no view', async () => {
    const tables = listTables(await reopen(Garden, Leaf, Seen, Bed));
    expect(tables.map(({ name }) => name)).toEqual([
      'beds',
      'leaves',
      'gardens',
      'plants',
      'tokens',
    ]);
  });

  it('refuses what no backup can carry, and names it', async () => {
    const withDate = await reopen(WithDate);
    expect(() => listTables(withDate)).toThrow(
      /^the column at of dates is of type [\w ]+, which no backup can carry: use text, bigint, integer, boolean$/,
    );
    const withPair = await reopen(Pair);
    expect(() => listTables(withPair)).toThrow(
      'the table pairs needs a primary key of one column: no backup can carry it',
    );
    const withCircle = await reopen(Person);
    expect(() => listTables(withCircle)).toThrow('the table people refers to people in a circle');
  });
});

it('reads every row of a table, whatever its columns are called, in the order of its key', async () => {
  await store.query('CREATE TABLE beds (key text PRIMARY KEY, sound boolean, lines bigint)');
  const keys = Array.from({ length: 100 }, (_, i) => `${i % 2 ? 'a' : 'B'}${i}`);
  for (const [i, key] of keys.entries())
    await store
      .getRepository(Bed)
      .insert({ key, sound: [true, false][i % 3] ?? null, lines: null });
  const [table] = listTables(store);
  if (!table) throw new Error('no table');
  const readRows = async (form: 'array' | 'object') => {
    await using runner = store.createQueryRunner();
    const chunks: Buffer[] = [];
    const query = { table, columns: table.columns, form };
    for await (const chunk of store.engine.readLines(runner, query)) chunks.push(chunk);
    return Buffer.concat(chunks).toString().trimEnd().split('\n');
  };
  const arrays = keys.map((key, i) => JSON.stringify([key, ['1', '0'][i % 3] ?? null, null]));
  expect(await readRows('array')).toEqual(arrays.sort());
  const objects = keys.map((key, i) => JSON.stringify({ key, sound: [true, false][i % 3] }));
  expect(await readRows('object')).toEqual(objects.sort());
});
