import { startServer, type Contestant, type Server } from './contestants.js';
import { medianOf, number, rangeOf, type Cells } from './markdown.js';
import { inRounds, measure, measureAtRate, type Sample } from './measure.js';
import { options } from './options.js';

/** Connections of the further tables, the most of which decide about the memory. */
const MOST = 250;
const LEVELS = [1, 4, 16, 64, MOST];
/** Eight rounds of 30 s for the first table are three of 10 s for each column of the others. */
const LEVEL_ROUNDS = Math.ceil(options.rounds / 3);
const LEVEL_SECONDS = Math.max(3, Math.round(options.seconds / 3));

/** Measures servers, and checks that every plant of a 200 is stored. @param work is done before they end */
export async function compare<Result>(
  contestants: readonly Contestant[],
  work: (servers: readonly Server[]) => Promise<Result>,
): Promise<Result> {
  const servers: Server[] = [];
  for (const each of contestants) servers.push(await startServer(each));
  // Compiles, and fills caches.
  for (const server of servers) await measure(server, options.warmup);
  const result = await work(servers);
  for (const server of servers) {
    await server.stop();
    const { name, accepted, isStoring, store } = server;
    const stored = isStoring ? await store.count() : accepted;
    if (stored < accepted) throw new Error(`${name}: ${accepted} accepted, but ${stored} stored`);
  }
  return result;
}

/** Fewer and shorter rounds, of another load. */
export function measureBriefly<Taken extends Sample>(
  servers: readonly Server[],
  take: (server: Server, seconds: number) => Promise<Taken>,
): Promise<Taken[][]> {
  return inRounds(servers, LEVEL_ROUNDS, (server) => take(server, LEVEL_SECONDS));
}

/** The three tables of an engine, and by name how far a server's CPU time was from its median. */
export async function describeAll(servers: readonly Server[]) {
  const samples = await inRounds(servers, options.rounds, (server) => measure(server));
  const rates = samples.map((each) => medianOf(figuresOf(each, 'rate')));
  const levels = new Map<number, Sample[][]>();
  for (const level of LEVELS) {
    const atLevel = (server: Server, seconds: number) => measure(server, seconds, level);
    const isKnown = level === options.connections;
    levels.set(level, isKnown ? samples : await measureBriefly(servers, atLevel));
  }
  const atHalf = await measureBriefly(servers, (server, seconds) =>
    measureAtRate(server, seconds, (rates[servers.indexOf(server)] ?? NaN) / 2),
  );
  const byLevel = (i: number, describe: (samples?: Sample[]) => string): Cells =>
    Object.fromEntries(
      [...levels].map(([level, each]) => [`${level} conn.`, describe(each[i])] as const),
    );
  return {
    total: servers.map((server, i) =>
      describe(server, samples[i], samples[0], levels.get(MOST)?.[i]),
    ),
    rates: servers.map(({ name }, i) => ({ '': name, ...byLevel(i, describeRate) })),
    times: servers.map(({ name }, i) => ({
      '': name,
      ...byLevel(i, describeTimes),
      'fixed rate': describeTimes(atHalf[i]),
      'creates/s': medianOf(figuresOf(atHalf[i], 'rate')),
      'sent late by': number(medianOf((atHalf[i] ?? []).map(({ late }) => late)), 2),
    })),
    spread: new Map(servers.map(({ name }, i) => [name, spreadOf(figuresOf(samples[i], 'cpu'))])),
  };
}

/** A row of the first table. @param own samples of the service @param crowd those with the most connections */
function describe(
  { name, isNode }: Server,
  samples?: Sample[],
  own?: Sample[],
  crowd?: Sample[],
): Cells {
  const cpu = figuresOf(samples, 'cpu');
  // Within each round, as the machine's speed drifts.
  const ratios = figuresOf(own, 'cpu').map((ours, round) => ours / (cpu[round] ?? NaN));
  const thread = (figure: keyof Sample) =>
    isNode ? number(medianOf(figuresOf(samples, figure)), 1) : '';
  const peaks = [samples, crowd].map((each) => medianOf(figuresOf(each, 'peakMb')));
  return {
    '': name,
    'creates/s': rangeOf(figuresOf(samples, 'rate'), 0),
    'CPU, µs': rangeOf(cpu, 1),
    'our CPU ÷ its': samples === own ? '' : rangeOf(ratios, 2),
    'main thread': thread('main'),
    'writing threads': thread('writer'),
    "V8's helpers": thread('helpers'),
    'memory, MB': Math.max(...peaks),
  };
}

/** A figure of a server in each of its rounds. */
export function figuresOf(samples: readonly Sample[] = [], figure: keyof Sample): number[] {
  return samples.map((sample) => sample[figure]);
}

function describeRate(samples?: readonly Sample[]): string {
  const [rate, cpu] = (['rate', 'cpu'] as const).map((each) => medianOf(figuresOf(samples, each)));
  return `${number(rate ?? NaN)}, ${number(cpu ?? NaN, 1)}`;
}

function describeTimes(samples?: readonly Sample[]): string {
  const times = (['p50', 'p99', 'p999'] as const).map((each) => medianOf(figuresOf(samples, each)));
  return times.map((ms) => (ms < 10 ? ms.toPrecision(2) : number(ms))).join(' / ');
}

/** The largest deviation from the median, as a share of it. */
function spreadOf(values: readonly number[]): number {
  const median = medianOf(values);
  return Math.max(...values.map((value) => Math.abs(value - median))) / median;
}
