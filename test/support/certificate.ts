import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import type { PostgresServer } from './postgres-server.js';
import type { PostgresStore } from './postgres-store.js';

/** The service's variables for the certificate and key of a folder. */
export function certificateIn(folder: string) {
  return { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') };
}

/**
 * Writes a certificate for a name, and its key, into a folder. Replaces existing ones. Returns their variables.
 *
 * @param options selfsigned's; by default its key is ECDSA's, and it expires in a year
 */
export async function issueCertificate(
  folder: string,
  name: string,
  options: Parameters<typeof generate>[1] = {},
) {
  const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    ...options,
  });
  const variables = certificateIn(folder);
  writeFileSync(variables.TLS_CERT_FILE, cert);
  writeFileSync(variables.TLS_KEY_FILE, key);
  return variables;
}

/** Makes a server take TLS, as `localhost`. Returns the file of its certificate. @param store one of it */
export async function encryptServer(server: PostgresServer, store: PostgresStore): Promise<string> {
  const { uid, gid } = statSync(server.data);
  const { TLS_CERT_FILE, TLS_KEY_FILE } = await issueCertificate(server.data, 'localhost');
  for (const file of [TLS_CERT_FILE, TLS_KEY_FILE]) {
    chownSync(file, uid, gid);
    chmodSync(file, 0o600);
  }
  await store.execute("ALTER SYSTEM SET ssl_cert_file = 'cert.pem'");
  await store.execute("ALTER SYSTEM SET ssl_key_file = 'key.pem'");
  await store.execute('ALTER SYSTEM SET ssl = on');
  await store.reload();
  return TLS_CERT_FILE;
}
