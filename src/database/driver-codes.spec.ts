import { expect, it } from '@jest/globals';
import { means } from './driver-codes.js';

const MEANINGS = ['unavailable', 'final', 'symptom', 'refused'] as const;

// Neighbours that differ: a row hides no code of a row below it.
it.each([
  ['SQLITE_IOERR_FSYNC', 'unavailable final symptom'],
  ['SQLITE_READONLY_DBMOVED', 'unavailable final symptom refused'],
  ['SQLITE_FULL', 'unavailable final refused'],
  ['SQLITE_ERROR', 'final refused'],
  ['EPIPE', 'unavailable'],
  ['ENOENT', ''],
  ['42501', 'unavailable final symptom refused'],
  ['42P01', 'unavailable final symptom refused'],
  ['42703', 'symptom refused'],
  ['28P01', 'unavailable final refused'],
  ['3D000', 'unavailable final refused'],
  ['08P01', 'unavailable'],
  ['57P01', 'unavailable'],
  ['57014', 'unavailable refused'],
  ['58030', 'unavailable'],
  ['XX000', 'unavailable'],
  ['40003', ''],
  ['40001', 'unavailable refused'],
  ['40P01', 'unavailable refused'],
  ['40002', 'refused'],
  ['25006', 'unavailable refused'],
  ['25P02', 'refused'],
  ['25P04', 'unavailable refused'],
  ['55P03', 'unavailable refused'],
  ['53300', 'unavailable refused'],
  ['23505', 'refused'],
  ['P0001', 'refused'],
  [undefined, ''],
])('%s means %j', (code, expected) => {
  const error = Object.assign(new Error('reason'), { code });
  expect(MEANINGS.filter((meaning) => means(error, meaning)).join(' ')).toBe(expected);
});

it('an error without a code means nothing', () => {
  for (const error of [undefined, new Error('no such table: plants')])
    expect(MEANINGS.filter((meaning) => means(error, meaning))).toEqual([]);
});
