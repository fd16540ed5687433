import { setTimeout as sleep } from 'node:timers/promises';
import { Scenario } from '../scenario.js';
import { discard, newServer } from './servers.js';
import { Service } from '../service.js';
import { Stage, type Played } from '../stage.js';

/** Milliseconds for which a server stands still: longer than any request may wait for it. */
const STILL = 8_000;
/** For each so many kills it stands still once: that takes longer. */
const KILLS = 5;

/** `kill -9` of the server, which starts again on its data; the service is left to itself. */
export async function killServer(times: number): Promise<Played> {
  const killed = new Scenario('`kill -9` of the server');
  const still = new Scenario('the server stands still (`SIGSTOP`)');
  const server = await newServer();
  const stage = await Stage.start(new Service(server.url()), killed);
  const kill = async (): Promise<void> => {
    await server.kill();
    await server.start();
  };
  const stop = async (): Promise<void> => {
    server.pause();
    await sleep(STILL);
    server.resume();
  };
  for (let i = 0; i < times; i++) await stage.round(killed, kill, server.url());
  for (let i = 0; i < times / KILLS; i++) await stage.round(still, stop, server.url());
  const wrong = await stage.finish(server.url());
  await discard(server);
  return { scenarios: [killed, still], wrong };
}
