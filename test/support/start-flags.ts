import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Reads V8's flags that a tree's `plant-store serve` gives to Node.
 *
 * @param tree of this or an older version, whose `npm start` gave them
 */
export function readStartFlags(tree = '.'): string[] {
  const command = readFileSync(join(tree, 'bin/plant-store'), 'utf8');
  const { scripts } = JSON.parse(readFileSync(join(tree, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  const [, flags = ''] =
    /^set -- ([^]*?) -- /m.exec(command) ?? /node (--.*) dist/.exec(scripts.start) ?? [];
  return flags.split(/[\s\\]+/);
}
