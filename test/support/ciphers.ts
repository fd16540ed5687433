import { once } from 'node:events';
import { connect, getCiphers } from 'node:tls';

/** What a service and nginx negotiate: three ciphers of TLS 1.3, then of TLS 1.2 those with this kind of key. */
export const cipherNames = (key: 'ECDSA' | 'RSA'): string[] => [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  `ECDHE-${key}-AES128-GCM-SHA256`,
  `ECDHE-${key}-AES256-GCM-SHA384`,
  `ECDHE-${key}-CHACHA20-POLY1305`,
];

/** Which of OpenSSL's ciphers a local port negotiates, each alone. */
export async function negotiateCiphers(port: number): Promise<Set<string>> {
  const negotiated = new Set<string>();
  for (const name of getCiphers().map((cipher) => cipher.toUpperCase())) {
    const isTls13 = name.startsWith('TLS_');
    const socket = connect({
      port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ciphers: isTls13 ? name : `${name}:@SECLEVEL=0`,
      maxVersion: isTls13 ? 'TLSv1.3' : 'TLSv1.2',
    });
    const connected = once(socket, 'secureConnect').then(() => socket.getCipher().name);
    const cipher = await connected.catch(() => undefined);
    if (cipher !== undefined) negotiated.add(cipher);
    socket.destroy();
  }
  return negotiated;
}
