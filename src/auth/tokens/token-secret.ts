import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const BASE_62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const TOKEN_SECRET = /^(plant_[0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

/** A new secret: `plant_`, 32 random base-62 characters (190 bits), and their checksum. */
export function createSecret(): string {
  const random = Array.from({ length: 32 }, () => BASE_62[randomInt(62)]).join('');
  return `plant_${random}${computeChecksum(`plant_${random}`)}`;
}

/** Whether a text has the form and the checksum of a secret; a mistyped one does not. */
export function hasSecretForm(text: string): boolean {
  const [, body, check] = TOKEN_SECRET.exec(text) ?? [];
  return body !== undefined && computeChecksum(body) === check;
}

/** SHA-256 of a token, in hexadecimal digits. Secrets are random, so no salt and no slow hash is needed. */
export function hashToken(secret: string): string {
  return hash('sha256', secret);
}

/** CRC-32 in 6 base-62 digits. */
function computeChecksum(text: string): string {
  const sum = crc32(text);
  const places = [62 ** 5, 62 ** 4, 62 ** 3, 62 ** 2, 62, 1];
  return places.map((place) => BASE_62[Math.floor(sum / place) % 62]).join('');
}
