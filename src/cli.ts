// The program: prepares Node.js before any other file is loaded, then runs the command that is named, by default `serve`.
import module from 'node:module';

// Stacks in the log name lines of src/.
module.setSourceMapsSupport(true, { nodeModules: false });
// New files are for their owner alone: SQLite's contain plants and hashes of tokens.
process.umask(0o077);
// Without a listener Node.js would open a debugger, to every user of the machine: log rotation sends this signal to servers.
process.on('SIGUSR1', () => undefined);
// Compiled code is kept for the next start, beside the packages: who can write there can change the code too.
module.enableCompileCache(`${import.meta.dirname}/../../node_modules/.cache/plant-store`);

const { run } = await import('./cli/program.js');
// Handed over, as no file of cli/ may import what is above it.
await run(process.argv.slice(2), () => import('./main.js'));
