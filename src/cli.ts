// The program: prepares Node.js before any other file is loaded, then runs the command that is named, by default `serve`.
import module from 'node:module';

const { engines } = module.createRequire(import.meta.url)('../../package.json') as {
  engines: { node: string };
};
const oldest = engines.node.replace('>=', '');

if (process.versions.node.localeCompare(oldest, 'en', { numeric: true }) < 0) {
  process.stderr.write(
    `Node.js ${process.versions.node} is too old: the plant store needs Node.js ${oldest} or newer. ` +
      'npm has installed one: use `npm start`, `bin/plant-store` or node_modules/.bin/node.\n',
  );
  process.exit(1);
}

// Stacks in the log name lines of src/.
module.setSourceMapsSupport(true, { nodeModules: false });
// New files are for their owner alone: SQLite's contain plants and hashes of tokens.
process.umask(0o077);
// Compiled code is kept for the next start, beside the packages: who can write there can change the code too.
module.enableCompileCache(`${import.meta.dirname}/../../node_modules/.cache/plant-store`);

const { run } = await import('./cli/program.js');
// Handed over, as no file of cli/ may import what is above it.
await run(process.argv.slice(2), () => import('./main.js'));
