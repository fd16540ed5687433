import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const BASE_62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET = /^(plant_[0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

/** A new secret: `plant_`, 32 random base-62 characters (190 bits), and their checksum. */
export function newSecret(): string {
  const random = Array.from({ length: 32 }, () => BASE_62[randomInt(62)]).join('');
  return `plant_${random}${checksum(`plant_${random}`)}`;
}

/** Whether a text has the form and the checksum of a secret; a mistyped one has not. */
export function isSecret(text: string): boolean {
  const [, body, check] = SECRET.exec(text) ?? [];
  return body !== undefined && checksum(body) === check;
}

/** What the store keeps of a secret. It is random, so SHA-256 needs no salt and no slowness. */
export function hashOf(secret: string): string {
  return hash('sha256', secret);
}

/** CRC-32 in 6 base-62 digits, the most significant first. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < 6; i++) {
    digits = BASE_62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
