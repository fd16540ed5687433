import type { LoadOptions } from './load.js';
import type { Scenario } from './scenario.js';
import { Service } from './service.js';
import { Stage } from './stage.js';

/**
 * `kill -9` of the service, which is started again at once; its store is left alone.
 *
 * @param inspect looks into the store after each time, and in the end; returns what is wrong
 * @returns what is wrong
 */
export async function killService(
  times: number,
  scenario: Scenario,
  store: string,
  inspect: () => string[] = () => [],
  options: LoadOptions = {},
): Promise<string[]> {
  const stage = await Stage.start(new Service(store), scenario, options);
  const { service } = stage;
  const strike = async (): Promise<void> => {
    await service.kill();
    await service.start();
  };
  const wrong: string[] = [];
  for (let i = 0; i < times; i++) {
    await stage.round(scenario, strike, store);
    wrong.push(...inspect());
  }
  return [...wrong, ...(await stage.finish(store)), ...inspect()];
}
