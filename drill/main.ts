import { parseArgs } from 'node:util';
import { writeBlock } from '../bench/page.js';
import { describeRun } from './machine.js';
import { failOver } from './failovers.js';
import { answersOf, notesOn, timesOf } from './report.js';
import { killServer } from './server-kills.js';
import { killService } from './service-kills.js';

/** `npm run drill:postgres`: strikes the service and its servers down under load. */
const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const [kills, failovers] = values.quick ? [2, 2] : [20, 6];

const played = [await killService(kills), await killServer(kills), await failOver(failovers)];
const scenarios = played.flatMap((each) => each.scenarios);
const wrong = played.flatMap((each) => each.wrong);

const report = [describeRun(), answersOf(scenarios), timesOf(scenarios), notesOn(scenarios)].join(
  '\n\n',
);
console.log(`\n${report}`);
if (wrong.length > 0) {
  console.error(`\n${wrong.length} wrong, the first of them:\n${wrong.slice(0, 20).join('\n')}`);
} else if (!values.quick) writeBlock('reliability.md', 'drill', report);
process.exit(wrong.length > 0 ? 1 : 0);
