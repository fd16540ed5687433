import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** For Node's `--import`: on SIGUSR2 the process collects its garbage, so that its memory can be compared. */
setFlagsFromString('--expose-gc');
const collect = /** @type {() => void} */ (runInNewContext('gc'));
process.on('SIGUSR2', () => collect());
