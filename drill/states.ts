/**
 * States of a store that operators may have made, by chance, each under load.
 *
 * 1. A kind is one change of an operator (kinds.ts), with the verdict of docs/operating.md#what-the-store-is. A state has two or
 *    three of them, drawn by a seed, and is harmful if one of them is.
 * 2. The kinds are made one after the other. A harmful state must be refused with 503 in time, and then every request until its
 *    last harmful kind is undone. A harmless one must never be refused.
 * 3. They are undone in another order. Then plants must be stored again soon.
 * 4. A stage has some states in turn, on a store of its own, whose history is checked at its end. After an error the state of
 *    the store is unknown: another stage begins.
 *
 * A database may refuse a kind, as a view needs the column that it would alter: then the state lacks it. It may refuse to undo
 * a kind before another one: then it is undone later.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { number } from '../bench/markdown.js';
import { drawStates, type Kind, type Place, type State } from './kinds.js';
import { Scenario } from './ledger.js';
import { NONE } from './plants.js';
import { seed, stateCount as count } from './report.js';
import { Stage } from './stage.js';

const [LANES, STATES_OF_A_STAGE] = [2, 25];
/** Maximum pause of a client in milliseconds, as the lanes share the machine. */
const PAUSE = 200;
/** Milliseconds in which a harmful state is refused, and in which plants are stored again. */
const [MAX_UNNOTICED_MS, MAX_RECOVERY_MS] = [2_000, 10_000];
/** Why a request is refused that was late on a busy machine, whose session was ended, or that was in the way of a change. */
const TOO_BUSY = /took too long|[Cc]onnection|deadlock detected|could not serialize/;
/** How often the kinds of a state are tried to be undone in vain. */
const MAX_TRIES = 10;

/** A state that was made, without the kinds that the database has refused. */
interface Played {
  kinds: readonly Kind[];
  readonly scenario: Scenario;
}

/** Makes the states, in lanes. @param open makes the place of the stage of a number */
export async function proveStates(
  open: (stageNumber: number) => Promise<Place>,
): Promise<Scenario[]> {
  console.log(`seed ${seed}`);
  const [harmful, harmless] = [new Scenario('harmful states'), new Scenario('harmless states')];
  const made = new Map<string, number>();
  let next = 0;
  const runLane = async (): Promise<void> => {
    while (next * STATES_OF_A_STAGE < count) {
      const stageNumber = next++;
      // A busy machine may be too slow for a command.
      const place = await open(stageNumber).catch(() => open(stageNumber));
      const left = Math.min(count - stageNumber * STATES_OF_A_STAGE, STATES_OF_A_STAGE);
      const states = drawStates(place.kinds, seed + stageNumber, left);
      for (const { name } of place.kinds) made.set(name, made.get(name) ?? 0);
      for (const { kinds, scenario } of await playStage(place, states)) {
        add(scenario, isHarmful(kinds) ? harmful : harmless);
        for (const { name } of kinds) made.set(name, (made.get(name) ?? 0) + 1);
      }
      await place.close();
    }
  };
  await Promise.all(Array.from({ length: LANES }, runLane));
  console.log([...made].map(([name, times]) => `${name}: ${number(times)}`).join('; '));
  return [harmful, harmless];
}

function isHarmful(kinds: readonly Kind[]): boolean {
  return kinds.some((kind) => kind.isHarmful);
}

async function playStage({ service, findFault }: Place, states: State[]): Promise<Played[]> {
  const played: Played[] = [];
  const first = new Scenario('before the first state');
  const stage = await Stage.start(service, first, { pause: PAUSE });
  try {
    for (const state of states) {
      const scenario = new Scenario(state.kinds.map(({ name }) => name).join(' + '));
      const one: Played = { kinds: [], scenario };
      played.push(one);
      let refusal: string | undefined;
      const play = async (): Promise<void> => {
        refusal = await playState(stage, state, one);
      };
      await stage.round(scenario, play);
      // A busy machine took too long, or its sessions to end: that is the state's fault only if it happens again. The first 503 of
      // a harmful state may have that reason as well, and then is not yet the last response.
      if (refusal && TOO_BUSY.test(refusal)) {
        console.log(`again: ${scenario.name}: ${refusal}`);
        await stage.round(scenario, play);
      }
      scenario.learn(refusal);
      if (scenario.wrong.length > 0)
        console.log(`wrong: ${scenario.wrong[0]}; ${service.lastError}`);
    }
    await stage.finish();
    stage.ledger.scenario.learn(findFault?.());
  } catch (error) {
    const { scenario = first } = played.at(-1) ?? {};
    scenario.learn(`${String(error)}; ${service.lastError}`);
    console.log(`wrong: ${scenario.wrong.at(-1)}`);
    await stage.abandon();
  }
  return played;
}

/** @returns which responses were wrong, and the errors in the log: a harmless state was refused, or a harmful one was not */
async function playState(stage: Stage, state: State, played: Played): Promise<string | undefined> {
  const { ledger, service } = stage;
  const { scenario } = played;
  const { refused } = scenario.counts;
  const { length: logged } = service.errors;
  const allowed = await make(stage, state, played);
  if (isHarmful(played.kinds)) {
    await stage.until('plants are refused', () => ledger.unnoticed !== undefined);
    const { unnoticed = NaN } = ledger;
    scenario.unnoticed.push(unnoticed);
    if (!(unnoticed <= MAX_UNNOTICED_MS)) scenario.learn(`not noticed for ${unnoticed} ms`);
  }
  await sleep(state.holdMs);
  await undo(
    stage,
    state.undo.filter((kind) => played.kinds.includes(kind)),
  );
  const took = await untilStored(stage);
  if (took > MAX_RECOVERY_MS) scenario.learn(`stored again after ${took} ms`);
  const errors = service.errors.slice(logged).join('; ');
  if (isHarmful(played.kinds))
    return ledger.notRefused ? `${ledger.notRefused} not refused: ${errors}` : undefined;
  const wrong = scenario.counts.refused - refused - allowed;
  return wrong ? `${wrong} times 503: ${errors}` : undefined;
}

/** @returns how many requests were refused as their sessions were ended */
async function make(stage: Stage, { kinds }: State, played: Played): Promise<number> {
  const { ledger } = stage;
  const { counts, name } = played.scenario;
  let allowed = 0;
  played.kinds = [];
  ledger.beginChange(kinds.some(({ takesBack }) => takesBack));
  for (const kind of kinds) {
    const { refused } = counts;
    try {
      await kind.make(stage);
    } catch (error) {
      console.log(`refused: ${kind.name} in ${name}: ${String(error)}`);
      continue;
    }
    if (kind.isHarmful && !isHarmful(played.kinds))
      if (kind.mayFail) ledger.endChange();
      else ledger.forbid();
    played.kinds = [...played.kinds, kind];
    if (!kind.cuts || isHarmful(played.kinds)) continue;
    await untilStored(stage);
    allowed += counts.refused - refused;
  }
  return allowed;
}

async function undo(stage: Stage, kinds: readonly Kind[]): Promise<void> {
  const left = [...kinds];
  for (let tries = 0, kind = left.shift(); kind; kind = left.shift()) {
    if (!isHarmful(left)) stage.ledger.allow();
    try {
      await kind.undo?.(stage);
    } catch (error) {
      if (++tries === MAX_TRIES) throw error;
      left.push(kind);
    }
  }
}

/** @returns after how many milliseconds */
async function untilStored(stage: Stage): Promise<number> {
  const since = performance.now();
  await stage.until('plants are stored', () => stage.ledger.isQuiet(since));
  return performance.now() - since;
}

/** Adds the results of a state to those of its verdict. */
function add(state: Scenario, sum: Scenario): void {
  sum.times += state.times;
  for (const key of Object.keys(NONE) as (keyof typeof NONE)[])
    sum.counts[key] += state.counts[key];
  sum.longest = Math.max(sum.longest, state.longest);
  sum.gap = Math.max(sum.gap, state.gap);
  sum.unnoticed.push(...state.unnoticed);
  sum.takenBack += state.takenBack;
  sum.wrong.push(...state.wrong);
}
