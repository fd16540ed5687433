/** @engine postgres */
import { expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { listRows, OUT_OF_ORDER } from './client.js';

it.each(['SELECT 1 AS another', 'UPDATE one SET name = name'])(
  'the result of another statement, %s, is none of a query',
  async (sql) => {
    const url = process.env.TEST_DATABASE_URL ?? '';
    const store = await new DataSource({ type: 'postgres', url, poolSize: 1 }).initialize();
    await store.query('CREATE TEMPORARY TABLE one (name text)');
    const list = (query: string) => listRows<{ name: string }>(store, query, ['name']);
    expect(await list('SELECT name FROM one')).toEqual([]);
    await expect(list(sql)).rejects.toMatchObject({
      reason: OUT_OF_ORDER,
    });
    await store.destroy();
  },
);
