/** @engine sqlite */
import { afterEach, it } from '@jest/globals';
import { Fuzzer } from '../../drill/fuzz/fuzzer.js';

const CONNECTIONS = 2_000;
/** Milliseconds. A failure is made smaller, and files may stay open for a while afterwards. */
const LIMIT_MS = 150_000;
const TIMEOUT_MS = LIMIT_MS + 180_000;

let fuzzer: Fuzzer | undefined;
afterEach(() => fuzzer?.stop());

it.each([
  ['TCP', false],
  ['TLS', true],
])(
  `raw requests on ${CONNECTIONS} connections over %s do no harm`,
  async (_name, isTls) => {
    fuzzer = await Fuzzer.start(isTls);
    await fuzzer.check(1, CONNECTIONS, LIMIT_MS);
  },
  TIMEOUT_MS,
);
