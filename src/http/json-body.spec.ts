/** @engine sqlite */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import express, { type Request } from 'express';
import fc from 'fast-check';
import { LosslessNumber } from 'lossless-json';
import { ERRORS } from '../errors/error-codes.js';
import { mergeParts, parseJson } from './json-body.js';

const parse = (text: string) => parseJson(Buffer.from(text));

it('reads what JSON.parse reads, but for numbers that a double does not have', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      fc.pre(!/\d{16}|e\+/.test(text));
      expect(parse(text)).toEqual(JSON.parse(text));
    }),
  );
});

// Integers: test/http/plants.e2e.spec.ts.
describe('a number', () => {
  it.each([
    ['0.1', 0.1],
    ['-0', -0],
    ['0.0e-400', 0],
    ['1.5e-7', 1.5e-7],
    ['9007199254740991', 2 ** 53 - 1],
    ['9007199254740993', 9007199254740993n],
    ['9e18', 9n * 10n ** 18n],
  ])('%s is read with all of its digits', (literal, value) => {
    expect(parse(`[${literal}]`)).toEqual([value]);
  });

  it.each(['1e400', '1e-400', '9007199254740993.5', '0.12345678901234567890123'])(
    '%s is a LosslessNumber: neither a double nor an int64 has it',
    (literal) => expect(parse(literal)).toEqual(new LosslessNumber(literal)),
  );
});

it('a number is read after 1 MB of escapes, the longest body that can be configured', () => {
  const text = JSON.stringify({ name: 'a\n'.repeat((2 ** 20 - 50) / 3), id: 7 });
  expect(parse(text)).toMatchObject({ id: 7 });
});

it.each([
  ['k'.repeat(999), /^.{100,200} encountered at position 1006$/],
  [`plant_${'aB3'.repeat(12)}`, / key '\[redacted\]' /],
])('INVALID_JSON shows no long key, and no token: %#', (key, message) => {
  const refusal = { kind: ERRORS.INVALID_JSON, message: expect.stringMatching(message) };
  expect(() => parse(`{"${key}":1,"${key}":2}`)).toThrow(expect.objectContaining(refusal));
});

it.each([
  [20_000, 20_000],
  [200_000, 0],
])(
  'of %d tiny chunks that nobody reads yet few parts are in memory, and at the end %d',
  async (length, kept) => {
    await using server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
    const [message] = (await once(server, 'request')) as [IncomingMessage];
    const request = Object.assign(message, { app: express() }) as unknown as Request;
    const merging = mergeParts(request);
    socket.write(`${'1\r\nx\r\n'.repeat(length)}0\r\n\r\n`);
    while (!request.complete) await sleep(5);
    expect(request.readableLength).toBe(kept);
    merging[Symbol.dispose]();
    let parts = 0;
    for (; request.readableLength > 0; parts++) request.read();
    expect(parts).toBeLessThan(1_000);
    socket.destroy();
  },
);
