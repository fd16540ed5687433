import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { StoredPlant } from '../test/support/temporary-store.js';
import { contentOf, type Outcome } from './plants.js';

/** How drill/history/main.go calls the results of a request. After another one the plant may be stored, or not. */
const OUTCOMES: Partial<Record<Outcome, string>> = { acknowledged: 'stored', taken: 'taken' };

/** What clients that race for ids sent and were told, and when: nanoseconds of CLOCK_MONOTONIC. */
export class History {
  /** All ids that were sent. */
  readonly ids = new Set<bigint>();
  private readonly lines: string[] = [];

  /** A client, which sent a content at a time, has the result. */
  end(id: bigint, content: number, kind: Outcome, call: bigint): void {
    // A request without a connection did not happen.
    if (kind !== 'unreachable') this.add(id, `${content}`, OUTCOMES[kind] ?? 'unknown', call);
  }

  /** A read of the whole store, begun at a time, found these plants, and of all other ids none. */
  read(plants: readonly StoredPlant[], call: bigint): void {
    const found = new Map(plants.map((plant) => [plant.id, `${contentOf(plant) ?? 'unknown'}`]));
    for (const id of new Set([...this.ids, ...found.keys()])) {
      const content = found.get(id);
      this.add(id, content ?? '', content === undefined ? 'absent' : 'found', call);
    }
  }

  /** Has Porcupine check that the history is linearizable. Returns what is wrong. */
  async check(): Promise<string | undefined> {
    // Not at once: services of other lanes are under load.
    const checker = spawn('go', ['run', '.'], { cwd: 'drill/history' });
    checker.stderr.pipe(process.stderr);
    checker.stdin.end(this.lines.join('\n'));
    const closed = once(checker, 'close') as Promise<[number | null]>;
    const [[code], result] = await Promise.all([closed, text(checker.stdout)]);
    console.log(result.trim());
    return code === 0 ? undefined : `the history is not linearizable: ${result}`;
  }

  private add(id: bigint, content: string, outcome: string, call: bigint): void {
    const times = `"call":${call},"return":${process.hrtime.bigint()}`;
    this.lines.push(`{"id":"${id}","content":"${content}","outcome":"${outcome}",${times}}`);
  }
}
