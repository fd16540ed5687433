import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';

/** The service's variables for the certificate and key of a folder. */
export function certificateIn(folder: string) {
  return { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') };
}

/**
 * Writes a certificate for a name, and its key, into a folder. Replaces existing ones. Returns their variables.
 *
 * @param notAfterDate when it expires; in a year if left out
 */
export async function issueCertificate(folder: string, name: string, notAfterDate?: Date) {
  const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    ...(notAfterDate && { notAfterDate }),
  });
  const variables = certificateIn(folder);
  writeFileSync(variables.TLS_CERT_FILE, cert);
  writeFileSync(variables.TLS_KEY_FILE, key);
  return variables;
}
