import { Option, program } from 'commander';

interface Options {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly plants: number;
  readonly beside?: string;
  readonly quick: boolean;
  readonly publish: boolean;
}

/** The options of the command line. */
export const options = program
  .name('npm run bench --')
  .description('Measures the service beside servers that do less, on SQLite and on PostgreSQL.')
  .option('--rounds <n>', 'how often each server is measured', Number, 15)
  .option('--seconds <n>', 'load of a server in each round', Number, 4)
  .option('--connections <n>', 'connections of the load', Number, 64)
  .option('--plants <n>', 'add a service with so many plants; all ids are random', Number, 0)
  .option('--beside <folder>', 'add the service of another built tree')
  .option('--publish', 'write the tables into docs/performance.md', false)
  .addOption(
    new Option('--quick', '2 rounds of 2 seconds; docs stay as they are')
      .default(false)
      .implies({ rounds: 2, seconds: 2 }),
  )
  .parse()
  .opts<Options>();
