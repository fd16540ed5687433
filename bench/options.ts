import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** Rounds, seconds of measured load in each and of warm-up before, and plants of a large store. */
const FULL = { rounds: '7', seconds: '10', 'warm-up': '3', plants: '5000000' };
const QUICK = { rounds: '2', seconds: '2', 'warm-up': '1', plants: '100000' };

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    ...{ rounds: text, seconds: text, 'warm-up': text, plants: text },
    connections: { ...text, default: '64' },
    // The path of the Node to measure; the folder of another built tree.
    node: { ...text, default: process.execPath },
    beside: text,
    // Measures little, and leaves docs as they are.
    quick: { type: 'boolean', default: false },
  },
});
const {
  rounds,
  seconds,
  'warm-up': warmUp,
  plants,
} = { ...(values.quick ? QUICK : FULL), ...values };
const node = resolve(values.node);

/** What a run of the benchmark is asked for on its command line. */
export const options = {
  rounds: Number(rounds),
  seconds: Number(seconds),
  warmUp: Number(warmUp),
  plants: Number(plants),
  connections: Number(values.connections),
  node,
  version: execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim(),
  beside: values.beside,
  quick: values.quick,
};
for (const [name, value] of Object.entries(options)) {
  if (Number.isNaN(value)) throw new Error(`--${name} is not a number`);
}
