import fc from 'fast-check';
import type { Service, Stage } from './stage.js';

/** What an operator does to a store, and what makes it right again. */
export interface Kind {
  readonly name: string;
  /** Whether plants could be lost, changed or refused, or another store be served (docs/operating.md#what-the-store-is). */
  readonly isHarmful: boolean;
  /** A state has at most one kind of each group. */
  readonly groups?: readonly string[];
  readonly make: (stage: Stage) => unknown;
  readonly undo?: ((stage: Stage) => unknown) | undefined;
  /** As in changes.ts. */
  readonly takesBack?: boolean;
  /** Some requests fail, and others do not, before it is noticed. */
  readonly mayFail?: boolean;
  /** Requests may fail while it is made, as their sessions are ended. */
  readonly cuts?: boolean;
  /** Those of a lower number are made first, by default 0, and undone last. */
  readonly order?: -1 | 0 | 1;
  /** It is undone by a start, which another harmful kind would prevent. */
  readonly needsStart?: boolean;
}

/** A service on a new store, and what operators may do to it. */
export interface Place {
  readonly service: Service;
  readonly kinds: readonly Kind[];
  /** Says what is wrong with the files once the service has ended. */
  readonly findFault?: () => string | undefined;
  readonly close: () => Promise<void>;
}

/** A kind that SQL makes and undoes. Its flags are its groups. */
export interface SqlKind extends Omit<Kind, 'make' | 'undo'> {
  readonly groups: readonly string[];
  readonly make: string;
  readonly undo: string | undefined;
}

/** Reads kinds from text. A line has a name, flags, the SQL that makes it, and the SQL that undoes it, if that is needed. */
export function readKinds(list: string, isHarmful: boolean): SqlKind[] {
  const lines = list.trim().split('\n');
  return lines.map((line) => {
    const [name = '', flags = '', make = '', undo] = line.split('|').map((cell) => cell.trim());
    const groups = flags.split(' ').filter(Boolean);
    const takesBack = groups.includes('takesBack');
    return {
      name,
      isHarmful,
      groups: groups.filter((one) => one !== 'takesBack'),
      takesBack,
      make,
      undo,
    };
  });
}

/** Two or three kinds that are made together. */
export interface State {
  /** In the order in which they are made. */
  readonly kinds: readonly Kind[];
  /** The same in the order in which they are undone. */
  readonly undo: readonly Kind[];
  /** Milliseconds between the two. */
  readonly holdMs: number;
}

/** Draws so many states; the same kinds and seed make the same ones. A third of them has harmless kinds alone. */
export function drawStates(kinds: readonly Kind[], seed: number, numRuns: number): State[] {
  const order = (kind: Kind) => kind.order ?? 0;
  const draw = (from: readonly Kind[]) =>
    fc
      .shuffledSubarray([...from], { minLength: 2, maxLength: 3 })
      .filter(canCombine)
      .chain((chosen) =>
        fc.record({
          kinds: fc.constant(chosen.toSorted((a, b) => order(a) - order(b))),
          undo: fc
            .shuffledSubarray(chosen, { minLength: chosen.length })
            .map((list) => list.toSorted((a, b) => order(b) - order(a))),
          // Longer than the time between two inspections, but for some.
          holdMs: fc.integer({ min: 300, max: 2_000 }),
        }),
      );
  const harmless = draw(kinds.filter(({ isHarmful }) => !isHarmful));
  const state = fc.oneof({ weight: 1, arbitrary: harmless }, { weight: 2, arbitrary: draw(kinds) });
  return fc.sample(state, { seed, numRuns });
}

function canCombine(kinds: readonly Kind[]): boolean {
  const groups = kinds.flatMap((kind) => kind.groups ?? []);
  const harmful = kinds.filter(({ isHarmful }) => isHarmful);
  const canStart = harmful.length === 1 || !harmful.some(({ needsStart }) => needsStart);
  // Some requests of the one get 503 before a copy is noticed: the ledger would take that for the notice, and later 200s for lost.
  const isClear =
    !kinds.some(({ mayFail }) => mayFail) || !kinds.some(({ takesBack }) => takesBack);
  return new Set(groups).size === groups.length && canStart && isClear;
}
