import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { table } from '../../bench/markdown.js';
import { BYTES_HEAD, fuzzBytes } from './bytes.js';
import { Fuzzer } from './fuzzer.js';

/** `npm run fuzz`: sends the service what nobody should, by a seed that is printed. */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    // Plays a single connection of a run once more.
    connection: { type: 'string' },
    tls: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
console.log(`seed ${seed}`);
if (values.connection !== undefined) await replay(Number(values.connection));

const connections = values.quick ? 5_000 : 50_000;
const bytes = [await fuzzBytes(seed, connections, false), await fuzzBytes(seed, connections, true)];
const wrong = bytes.flatMap((each) => each.wrong);
console.log(
  `\n${table(
    BYTES_HEAD,
    bytes.map(({ row }) => row),
  )}`,
);
if (wrong.length > 0) console.error(`\n${wrong.length} wrong:\n\n${wrong.join('\n\n')}`);
process.exit(wrong.length > 0 ? 1 : 0);

async function replay(connection: number): Promise<never> {
  const fuzzer = await Fuzzer.start(seed, values.tls);
  await fuzzer.play(connection);
  await fuzzer.subject.settle();
  console.log(fuzzer.subject.service.output, fuzzer.statuses, fuzzer.findings.join('\n'));
  await fuzzer.subject.service.remove();
  process.exit();
}
