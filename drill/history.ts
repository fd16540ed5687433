import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { StoredPlant } from '../test/support/temporary-store.js';

/** How drill/history/main.go calls the results of a request. Another one may be stored, or not. */
const OUTCOMES: Readonly<Record<string, string>> = { acknowledged: 'stored', taken: 'taken' };

/** What clients that race for ids sent and were told, and when: nanoseconds of CLOCK_MONOTONIC. */
export class History {
  private readonly lines: string[] = [];
  private readonly ids = new Set<bigint>();

  get length(): number {
    return this.lines.length;
  }

  /** A client sends a content. Returns what is to be called with the result. */
  begin(id: bigint, content: string): (kind: string) => void {
    this.ids.add(id);
    const call = process.hrtime.bigint();
    return (kind) => this.add(id, content, OUTCOMES[kind] ?? 'unknown', call);
  }

  /** Has Porcupine check that the history with these plants at its end is linearizable. Returns what is wrong. */
  async check(plants: readonly StoredPlant[]): Promise<string | undefined> {
    const call = process.hrtime.bigint();
    const found = new Map(plants.map(({ id, name }) => [id, name]));
    for (const id of new Set([...this.ids, ...found.keys()])) {
      const name = found.get(id);
      this.add(id, name ?? '', name === undefined ? 'absent' : 'found', call);
    }
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
    const text = `"id":"${id}","content":${JSON.stringify(content)},"outcome":"${outcome}"`;
    this.lines.push(`{${text},${times}}`);
  }
}
