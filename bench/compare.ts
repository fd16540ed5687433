import { contestantsOn, startServer, type Server } from './contestants.js';
import { inRounds, measure, type Row } from './measure.js';
import { options } from './options.js';
import { compareOnEngines, describeRows } from './report.js';

/** `npm run bench`: the service on SQLite and on PostgreSQL, beside servers that do less. */
const page = ['docs/performance.md', `node${Number.parseInt(options.version)}`] as const;
await compareOnEngines(page, [], async (engine, newStore) => {
  const servers: Server[] = [];
  for (const each of await contestantsOn(engine, newStore)) servers.push(await startServer(each));
  const rows = await inRounds(servers, (each) => measure(each));
  for (const server of servers) await server.stop();
  for (const row of rows) await checkStored(row);
  return [describeRows(rows)];
});

/** @throws Error if a plant answered with 200 is not stored */
async function checkStored({ name, contestant, samples }: Row<Server>): Promise<void> {
  if (!contestant.isStoring) return;
  const accepted = samples.reduce((sum, sample) => sum + sample.accepted, 0);
  const stored = await contestant.store.count();
  if (stored < accepted) throw new Error(`${name}: ${accepted} accepted, but ${stored} stored`);
}
