import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;
const { values } = parseArgs({
  options: {
    // What is measured, if not the service beside others: the work of a create, a large store, or too many clients.
    ...{ create: flag, growth: flag, overload: flag },
    ...{ rounds: text, seconds: text, 'warm-up': text, plants: text },
    connections: { ...text, default: '64' },
    // The path of the Node to measure, and the folder of another built tree.
    node: { ...text, default: process.execPath },
    beside: text,
    // Measures little, and leaves docs as they are.
    quick: flag,
    // All servers under load at the same time: creates/s are shares, but the machine's noise meets all alike. Leaves
    // docs as they are too.
    'at-once': flag,
  },
});
const { quick, beside, 'at-once': isAtOnce } = values;
const node = resolve(values.node);

const [subject = 'compare'] = (['create', 'growth', 'overload'] as const).filter(
  (name) => values[name],
);

/** The options of the command line. */
export const options = {
  /** The file that measures it. */
  subject,
  rounds: Number(values.rounds ?? (quick ? 2 : 15)),
  /** Of the measured load in each round, and of the warm-up before it. */
  seconds: Number(values.seconds ?? (quick ? 2 : 4)),
  warmUp: Number(values['warm-up'] ?? 1),
  /** Plants of a large store. */
  plants: Number(values.plants ?? (quick ? 100_000 : 10_000_000)),
  connections: Number(values.connections),
  node,
  version: execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim(),
  beside,
  quick,
  isAtOnce,
};
