import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';

/** The service's variables for the certificate and key of a folder. */
export function certificateIn(folder: string) {
  return { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') };
}

/** Writes a certificate for a name, and its key, into a folder. Replaces existing ones. */
export async function issueCertificate(folder: string, name: string): Promise<void> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
  });
  const { TLS_CERT_FILE, TLS_KEY_FILE } = certificateIn(folder);
  writeFileSync(TLS_CERT_FILE, cert);
  writeFileSync(TLS_KEY_FILE, key);
}
