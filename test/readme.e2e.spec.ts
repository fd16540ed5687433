import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { read } from './support/published.js';
import { ServiceProcess } from './support/service-process.js';

let service: ServiceProcess;
afterEach(() => service.remove());

/** The block of shell commands in the README below a heading. */
function blockOf(heading: string): string {
  const [, section = ''] = read('README.md').split(`\n## ${heading}\n`);
  return /```sh\n([^]*?)```/.exec(section)?.[1] ?? '';
}

/** What bash prints for commands on a service: in the checkout, where npx finds the command. */
async function paste(commands: string): Promise<string> {
  const text = commands.replaceAll(':3000/', `:${service.port}/`);
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: service.store.url };
  const run = promisify(execFile)('bash', ['-c', text], { env, cwd: resolve('.') });
  return (await run).stdout;
}

describe("the README's blocks can be pasted twice", () => {
  it('A request', async () => {
    service = await ServiceProcess.start();
    const block = blockOf('A request');
    const said = await paste(`${block}\necho\n${block}`);
    const plant = { name: 'Common alder', tag: 'Alnus glutinosa' };
    expect(said.split('\n').map((line) => JSON.parse(line) as unknown)).toEqual([plant, plant]);
  });

  it('Tokens', async () => {
    service = await ServiceProcess.start();
    const block = blockOf('Tokens');
    expect((await paste(`set -e\n${block}${block}`)).match(/^plant_\w{38}$/gm)).toHaveLength(4);
  });
});
