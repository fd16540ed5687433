import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../client.js';
import type { Ledger } from '../ledger.js';
import { Ids, plantOf } from '../plants.js';
import { Scenario } from '../scenario.js';
import { Service } from '../service.js';
import { Stage } from '../stage.js';
import { nameOf, type Fault } from './fault.js';
import { integrityOf, writeSent } from './image.js';
import { randomFrom, type Random } from '../random.js';
import { memoryFolder, newRecording, STORE, type Recording } from './recording.js';
import { replay, SENT, type Outcome } from './replay.js';

/** Milliseconds for which a lasting fault lasts; in which a service may end; and until one strikes. */
const LASTING = 1_000;
const ENDING = 500;
const PATIENCE = 60_000;
/** Long names, and many of them sent again, bring a checkpoint with every 650 new plants. */
const LOAD = { pause: 0, ids: new Ids(true), repeats: 3 / 4 };
/** New plants after the fault: more than a checkpoint's worth, so that the log begins anew. */
const PLANTS = 1_000;
/** The exit code by which the service says that it trusts its files no more (EX_IOERR of sysexits.h). */
const IO_ERROR = 74;
/** Plants that are sent once more to a service that starts on what a power cut left. */
const RESENT = 300;

/** What a fault did. */
export interface IoError {
  readonly scenario: Scenario;
  /** The exit code of the service; undefined where it went on. */
  readonly exit: number | null | undefined;
  readonly cuts: Outcome;
  readonly wrong: readonly string[];
}

/**
 * Has the disk fail a service under load; starts it again where it ends by that, and kills it later;
 * and cuts the power after the fault.
 *
 * @param points before how many operations the power is cut, in each way that makes a difference
 */
export async function failDisk(fault: Fault, points: number, seed: number): Promise<IoError> {
  const recording = await newRecording();
  const { service, file, folder } = recording;
  const store = `sqlite:${file}`;
  const scenario = new Scenario(nameOf(fault));
  const random = randomFrom(seed);
  const stage = await Stage.start(service, scenario, LOAD);
  const armed = process.hrtime.bigint();
  let exit: IoError['exit'];
  const wrong = await problemsOf(async () => {
    const strike = async (): Promise<void> => {
      exit = await strikeWith(recording, fault, random);
    };
    await stage.round(scenario, strike, store);
    await acknowledged(stage, PLANTS);
    await stage.round(new Scenario('a kill after the fault'), () => restart(service), store);
    return exit === undefined || exit === IO_ERROR ? [] : [`the service ended with ${exit}`];
  });
  wrong.push(...(await problemsOf(() => stage.finish(store))), ...integrityOf(file));
  const image = join(memoryFolder(), STORE);
  writeSent(stage.ledger, join(folder, SENT));
  const cuts = await replay({ folder, seed, points, after: armed, image });
  wrong.push(
    ...firstOf(cuts.wrong),
    ...(await problemsOf(() => resend(image, recording, stage.ledger))),
  );
  for (const used of [folder, dirname(image)]) rmSync(used, { recursive: true });
  return { scenario, exit, cuts, wrong: wrong.map((each) => `${scenario.name}: ${each}`) };
}

async function problemsOf(work: () => Promise<string[]>): Promise<string[]> {
  try {
    return await work();
  } catch (error) {
    return [String(error)];
  }
}

/** The first of what is wrong, and how much more there is. */
function firstOf([first, ...more]: readonly string[]): string[] {
  return first === undefined ? [] : [`${first} (and ${more.length} more)`];
}

/** @returns the exit code of the service, where it ended; it has been started again then */
async function strikeWith(
  { fault: file, service }: Recording,
  fault: Fault,
  random: Random,
): Promise<IoError['exit']> {
  // A checkpoint syncs and truncates the database once; there are many of all else.
  const isRare = fault.file === 'database' && /sync|truncate/.test(fault.operation);
  file.arm(fault, isRare ? 1 : 1 + Math.floor(random() * 50));
  await until('the fault struck', () => file.fired > 0);
  if (fault.lasting) await sleep(LASTING);
  file.repair();
  await sleep(ENDING);
  if (service.lives) return undefined;
  const { exitCode } = service;
  await service.start();
  return exitCode;
}

async function restart(service: Service): Promise<void> {
  await service.kill();
  await service.start();
}

async function acknowledged({ ledger, service }: Stage, plants: number): Promise<void> {
  const enough = ledger.acknowledged.size + plants;
  await until('enough plants were stored', () => {
    if (!service.lives) throw new Error('the service has ended');
    return ledger.acknowledged.size >= enough;
  });
}

/** @throws Error where it takes too long */
async function until(what: string, isSo: () => boolean): Promise<void> {
  const since = performance.now();
  while (!isSo()) {
    if (performance.now() - since > PATIENCE) throw new Error(`it took too long until ${what}`);
    await sleep(20);
  }
}

/** Starts a service on what a power cut left, and sends the last plants once more. */
async function resend(image: string, { service }: Recording, ledger: Ledger): Promise<string[]> {
  const other = new Service(`sqlite:${image}`);
  await other.start();
  const client = new Client(other.url, await service.token());
  const wrong: string[] = [];
  for (const id of [...ledger.acknowledged.keys()].slice(-RESENT)) {
    const { kind } = await client.send(plantOf(id));
    if (kind !== 'acknowledged') wrong.push(`plant ${id}, sent again after a power cut: ${kind}`);
  }
  client.close();
  await other.kill();
  return firstOf(wrong);
}
