import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../test/support/client.js';
import { RawConnection, requestText } from '../test/support/raw-connection.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { Scenario } from './ledger.js';
import { disturb, runOn, type Stage } from './stage.js';

/** Requests with a revoked token in progress. */
const REQUESTS = 32;
/** Milliseconds after which a revoked token is refused, and between two bytes of a body. */
const [REVOKED_MS, DRIP_MS] = [5_000, 100];
/** Blanks in a body: more than drip in the 30 s that a request may take. */
const BLANKS = ' '.repeat(400);

/** Revokes tokens of requests whose bodies arrive byte by byte. All get 401, and nothing is stored. */
export function revokeTokens(times: number, store: TemporaryStore): Promise<Scenario[]> {
  const scenario = new Scenario('tokens are revoked while bodies drip');
  return disturb(scenario, times, store, (stage) => revokeOne(stage, scenario));
}

async function revokeOne({ service }: Stage, scenario: Scenario): Promise<void> {
  const { store, port } = service;
  const name = `drip-${scenario.times}`;
  const token = await runOn(store, 'token', 'create', name);
  const client = new Client(port, token.trim());
  // The ledger has none of these ids: it notices the plant if one is stored.
  const body = `${BLANKS}{"id":${randomInt(2 ** 48 - 1)},"name":"revoked"}`;
  const requests = await Promise.all(
    Array.from({ length: REQUESTS }, async () => {
      const connection = await RawConnection.open(port);
      return connection.write(
        requestText({ ...client.headers, 'content-length': `${body.length}` }),
      );
    }),
  );
  // Not 401: the token is accepted.
  const { status } = await client.post('{}');
  if (status !== 400) throw new Error(`a new token: ${status}`);

  let sent = 0;
  let revokedAt = Infinity;
  const revoked = runOn(store, 'token', 'revoke', name).then(() => (revokedAt = performance.now()));
  while (performance.now() - revokedAt < REVOKED_MS) {
    for (const request of requests) request.write(body.slice(sent, sent + 1));
    sent += 1;
    await sleep(DRIP_MS);
  }
  await revoked;
  const responses = await Promise.all(
    requests.map((request) => request.write(body.slice(sent)).read()),
  );
  for (const request of requests) request.close();
  client.close();
  const other = responses.find((response) => response.status !== 401);
  scenario.learn(other && `a revoked token, and its body later: ${other.status} ${other.text}`);
}
