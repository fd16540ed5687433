import { writeBlock } from '../bench/page.js';

/**
 * Ends a drill: prints its report, and what is wrong; writes the report into docs/reliability.md where
 * nothing is.
 *
 * @param block the name of its place there; undefined for a quick run, which writes nothing
 */
export function finish(report: string, wrong: readonly string[], block?: string): never {
  console.log(`\n${report}`);
  if (wrong.length > 0) {
    console.error(`\n${wrong.length} wrong, the first of them:\n${wrong.slice(0, 20).join('\n')}`);
  } else if (block !== undefined) writeBlock('reliability.md', block, report);
  process.exit(wrong.length > 0 ? 1 : 0);
}
