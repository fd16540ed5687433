import { program } from 'commander';

/** The options of the command line. The defaults are those of a short run, which is good for a look. */
export const options = program
  .name('npm run bench --')
  .description('Measures the service beside servers that do less, on SQLite and on PostgreSQL.')
  .option('--rounds <n>', 'how often each server is measured', Number, 3)
  .option('--seconds <n>', 'load of a server in each round', Number, 3)
  .option('--warmup <n>', 'seconds of load before the first round', Number, 3)
  .option('--connections <n>', 'connections of the load', Number, 64)
  .option('--publish', 'write the tables into docs/performance.md', false)
  .parse()
  .opts<Record<'rounds' | 'seconds' | 'warmup' | 'connections', number> & { publish: boolean }>();
