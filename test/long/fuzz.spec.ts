/** @engine sqlite */
import { afterEach, expect, it } from '@jest/globals';
import { Fuzzer } from '../../drill/fuzz/fuzzer.js';
import { rounds } from './rounds.js';

const CONNECTIONS = rounds(400, 2_000);

let fuzzer: Fuzzer | undefined;
afterEach(() => fuzzer?.service.remove());

it.each([
  ['TCP', false],
  ['TLS', true],
])(`${CONNECTIONS} faulty connections over %s: no finding`, async (_name, isTls) => {
  fuzzer = await Fuzzer.start(1, isTls);
  await fuzzer.round(CONNECTIONS);
  expect(fuzzer.findings).toEqual([]);
});
