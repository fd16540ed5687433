import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { program } from 'commander';

interface Options {
  readonly create: boolean;
  readonly rounds?: number;
  readonly seconds?: number;
  readonly warmUp: number;
  readonly connections: number;
  readonly plants: number;
  readonly node: string;
  readonly beside?: string;
  readonly quick: boolean;
  readonly atOnce: boolean;
}

const given = program
  .name('npm run bench --')
  .description('Measures the service beside servers that do less, on SQLite and on PostgreSQL.')
  .option('--create', 'measure CPU, memory and system calls of a create, not response times', false)
  .option('--rounds <n>', 'how often each server is measured (default: 15)', Number)
  .option('--seconds <n>', 'load of a server in each round (default: 4)', Number)
  .option('--warm-up <n>', 'seconds of load before that', Number, 1)
  .option('--connections <n>', 'connections of the load', Number, 64)
  .option(
    '--plants <n>',
    'add a service that has these plants already; all ids are random',
    Number,
    0,
  )
  .option('--node <path>', 'the Node.js to measure', (path) => resolve(path), process.execPath)
  .option('--beside <folder>', 'add the service of another built tree')
  .option('--quick', 'by default 2 rounds of 2 seconds; docs stay as they are', false)
  .option(
    '--at-once',
    'load all servers at the same time, so that noise of the machine meets all; docs stay as they are',
    false,
  )
  .parse()
  .opts<Options>();
const { quick, rounds = quick ? 2 : 15, seconds = quick ? 2 : 4, node } = given;
const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();

/** The options of the command line, and the version of the Node.js to measure. */
export const options = { ...given, rounds, seconds, version };
