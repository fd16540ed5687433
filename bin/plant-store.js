#!/usr/bin/env -S node --
// Not a part of the build, so that npm finds it, executable, before the first one and after each.
import { existsSync } from 'node:fs';
import process from 'node:process';
import { URL } from 'node:url';

const program = new URL('../dist/src/cli.js', import.meta.url);
if (existsSync(program)) await import(program.href);
else {
  process.stderr.write('error: the plant store is not built yet: run `npm run build`\n');
  process.exitCode = 1;
}
