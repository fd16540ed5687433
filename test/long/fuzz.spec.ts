/** @engine sqlite */
import { afterEach, it } from '@jest/globals';
import { Fuzzer } from '../../drill/fuzz/fuzzer.js';
import { rounds } from './rounds.js';

const CONNECTIONS = rounds(400, 2_000);
/** Less than Jest allows, so that a failure is reported with its seed and path. */
const LIMIT_MS = rounds(45_000, 200_000);

let fuzzer: Fuzzer | undefined;
afterEach(() => fuzzer?.stop());

it.each([
  ['TCP', false],
  ['TLS', true],
])(`raw requests on ${CONNECTIONS} connections over %s do no harm`, async (_name, isTls) => {
  fuzzer = await Fuzzer.start(isTls);
  await fuzzer.check({ seed: 1, connections: CONNECTIONS, limitMs: LIMIT_MS });
});
