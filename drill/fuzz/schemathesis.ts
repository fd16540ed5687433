import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Outcome } from '../../bench/markdown.js';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { ServiceProcess } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import type { TemporaryStore } from '../../test/support/temporary-store.js';

export const VERSION = '4.32.5';
/** Ignored by git. */
const FOLDER = resolve('drill/.work', `schemathesis-${VERSION}`);
/** Cases of one run of Schemathesis; each run has a new service and store. */
const PORTION = 12_500;

/**
 * All checks are on. Texts have no U+0000 and no unpaired surrogates, which the service refuses although
 * the schema allows them (docs/api.md). drill/fuzz/hooks.py keeps ids unique. `--report json` has the
 * number of cases sent.
 */
const OPTIONS = [
  ...['--checks', 'all', '--mode', 'all', '--continue-on-failure', '--max-response-time', '5.5'],
  ...['--generation-allow-x00', 'false', '--generation-codec', 'utf-8'],
  ...['--generation-database', 'none', '--no-color', '--report', 'json'],
];

interface Report {
  readonly exit_code: number;
  readonly running_time: number;
  readonly test_cases: { readonly generated: number };
}

/** Sends cases made by Schemathesis from the service's document, to a service on each engine. */
export async function fuzzDocuments(seed: number, cases: number): Promise<Outcome[]> {
  installSchemathesis();
  const server = await PostgresServer.start();
  const outcomes = await Promise.all([
    fuzzDocument('SQLite', () => Promise.resolve(new SqliteStore()), seed, cases),
    fuzzDocument('PostgreSQL', () => PostgresStore.create(server.url()), seed, cases),
  ]);
  await server.remove();
  return outcomes;
}

/** Installs Schemathesis if missing. Needs Python 3.10 or later (Debian: python3, python3-venv). */
function installSchemathesis(): void {
  if (existsSync(join(FOLDER, 'bin/schemathesis'))) return;
  execFileSync('python3', ['-m', 'venv', '--clear', FOLDER], { stdio: 'inherit' });
  const pip = ['install', '--quiet', '--disable-pip-version-check', `schemathesis==${VERSION}`];
  execFileSync(join(FOLDER, 'bin/pip'), pip, { stdio: 'inherit' });
}

async function fuzzDocument(
  engine: string,
  createStore: () => Promise<TemporaryStore>,
  seed: number,
  cases: number,
): Promise<Outcome> {
  let [sent, seconds] = [0, 0];
  const wrong: string[] = [];
  for (let i = 0; sent < cases && wrong.length === 0; i++) {
    const portion = Math.min(PORTION, cases - sent);
    const { report, output } = await run(await createStore(), seed + i, portion);
    sent += report.test_cases.generated;
    seconds += report.running_time;
    if (report.exit_code !== 0) wrong.push(`${engine}, seed ${seed + i}:\n${output}`);
    console.log(`Schemathesis, ${engine}: ${sent} cases`);
  }
  const row = { Schemathesis: engine, cases: sent, 'a second': sent / seconds };
  return { row: { ...row, failures: wrong.length }, wrong };
}

async function run(store: TemporaryStore, seed: number, cases: number) {
  const service = await ServiceProcess.start({ store, env: { LOG_LEVEL: 'error' } });
  const path = join(store.folder, 'report.json');
  const args = ['run', `http://127.0.0.1:${service.port}/openapi.json`, ...OPTIONS];
  args.push('--header', `Authorization: Bearer ${service.token}`, '--report-json-path', path);
  args.push('--seed', String(seed), '--max-examples', String(cases));
  const hooks = { PYTHONPATH: resolve('drill/fuzz'), SCHEMATHESIS_HOOKS: 'hooks' };
  const child = spawn(join(FOLDER, 'bin/schemathesis'), args, {
    cwd: store.folder,
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1', ...hooks },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (!existsSync(path)) throw new Error(output);
  const report = JSON.parse(readFileSync(path, 'utf8')) as Report;
  await service.remove();
  return { report, output };
}
