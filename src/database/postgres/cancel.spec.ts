/** @engine postgres */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Client, type DatabaseError } from 'pg';
import { cancelStatement } from './cancel.js';

let client: Client;
beforeEach(async () => {
  client = new Client({ connectionString: process.env.TEST_DATABASE_URL });
  await client.connect();
});
afterEach(() => client.end());

it('a statement is cancelled by the key and the address that the driver knows of its session', async () => {
  let code: string | undefined;
  const failed = client.query('SELECT pg_sleep(60)').catch((error: unknown) => {
    code = (error as DatabaseError).code ?? '';
  });
  // A request that overtakes the statement cancels nothing.
  while (code === undefined) await cancelStatement(client);
  await failed;
  expect(code).toBe('57014');
});

it('a request to cancel fails if nobody takes it', async () => {
  const lost = Object.assign(new Client({ host: '/nowhere', port: 1 }), {
    processID: 1,
    secretKey: 1,
  });
  await expect(cancelStatement(lost)).rejects.toMatchObject({ code: 'ENOENT' });
});

it('a session to which a pooler has given no key cannot be cancelled', async () => {
  const keyless = Object.assign(client, { processID: null });
  await expect(cancelStatement(keyless)).rejects.toThrow('the session has no key');
});

it('a client passes its TLS to tls.connect(), and keeps the key from the log', () => {
  const { ssl } = new Client({ ssl: { ca: 'ca', key: 'key' } });
  expect(ssl).toMatchObject({ ca: 'ca', key: 'key' });
  expect(Object.keys(ssl)).not.toContain('key');
});
