import { certificateIn, issueCertificate } from '../../test/support/certificate.js';
import { Client } from '../../test/support/client.js';
import { ServiceProcess } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { send } from '../load.js';

/** The result of a part of the run: a row of the report, and what is wrong. */
export interface Outcome {
  readonly row: readonly string[];
  readonly wrong: readonly string[];
}

/** Starts a service on a new SQLite store, over TLS if asked. */
export async function startService(isTls: boolean, options: string): Promise<ServiceProcess> {
  const store = new SqliteStore();
  if (isTls) await issueCertificate(store.folder, 'localhost');
  const tls = isTls ? certificateIn(store.folder) : {};
  const env = { LOG_LEVEL: 'info', LOG_REQUESTS: 'errors', NODE_OPTIONS: options, ...tls };
  return ServiceProcess.start({ store, env });
}

/**
 * Creates a plant as an honest client.
 *
 * @param kept the client to use; by default a new one, which is closed again
 * @returns the duration in milliseconds, and the problem without a 200
 */
export async function createBeside(
  { port, token }: ServiceProcess,
  id: bigint,
  isTls: boolean,
  kept?: Client,
): Promise<{ ms: number; problem?: string }> {
  const client = kept ?? new Client(port, token, 1, isTls);
  const began = performance.now();
  const { kind, text = kind } = await send(client, id);
  if (!kept) client.close();
  const ms = performance.now() - began;
  return kind === 'acknowledged' ? { ms } : { ms, problem: `a create got ${text}` };
}
