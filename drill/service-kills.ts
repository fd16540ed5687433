import { Scenario } from './scenario.js';
import { discard, newServer } from './servers.js';
import { Stage, type Played } from './stage.js';

/** `kill -9` of the service, which is started again at once; its server is left alone. */
export async function killService(times: number): Promise<Played> {
  const scenario = new Scenario('`kill -9` of the service');
  const server = await newServer();
  const stage = await Stage.start(server.url(), scenario);
  const { service } = stage;
  const strike = async (): Promise<void> => {
    await service.kill();
    await service.start();
  };
  for (let i = 0; i < times; i++) await stage.round(scenario, strike, server);
  const wrong = await stage.finish(server);
  await discard(server);
  return { scenarios: [scenario], wrong };
}
