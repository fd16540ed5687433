import { afterEach, expect, it } from '@jest/globals';
import { Fuzzer } from '../drill/fuzz/fuzzer.js';

let fuzzer: Fuzzer | undefined;
afterEach(() => fuzzer?.subject.service.remove());

it.each([
  ['TCP', false],
  ['TLS', true],
])('2,000 connections over %s that do what they should not', async (_name, isTls) => {
  fuzzer = await Fuzzer.start(1, isTls);
  await fuzzer.round(2_000);
  expect(fuzzer.findings).toEqual([]);
});
