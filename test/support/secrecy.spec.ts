/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { createSecret } from '../../src/auth/tokens/token-secret.js';
import { assertSecrecy, Log, recordSecrets } from './secrecy.js';

/** Checks a log of this text. The log is emptied, as every test is checked too. */
function judge(text: string): void {
  const log = new Log();
  log.write(text);
  try {
    assertSecrecy();
  } finally {
    log.text = '';
  }
}

describe('assertSecrecy', () => {
  it.each([
    ['a token of an Authorization header', 'Bearer abcdefghijklmnop', 'abcdefghijklmnop'],
    ['a token in a query', '/plants?access_token=abcdefghijklmnop&x=1', 'abcdefghijklmnop'],
    ['a password of an address', 'postgres://plants:hunter22@db/plants', 'hunter22'],
    ['a token of ours, whoever used it', '', createSecret()],
    ['a part of one', '', createSecret().slice(0, 30)],
  ])('finds %s', (_name, sent, shown) => {
    recordSecrets(sent);
    const line = `{"msg":"${shown}"}`;
    expect(() => judge(`a line\n${line}\n`)).toThrow(`a log shows ${shown}: ${line}`);
  });

  it('takes no name of a table for a token, whichever bit of it is flipped', () => {
    const name = Buffer.from('"plant_store_migrations"');
    for (let bit = 0; bit < name.length * 8; bit++) {
      const flipped = Buffer.from(name);
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(() => judge(flipped.toString('latin1'))).not.toThrow();
    }
  });

  it('allows only the first token of a start in development', () => {
    const secret = createSecret();
    const printed = `Shown only now:\n\n  ${secret}\n\n  curl x -H 'Authorization: Bearer ${secret}'\n`;
    expect(() => judge(printed)).not.toThrow();
    expect(() => judge(`${printed}INFO  [Errors] ${secret}\n`)).toThrow('a log shows');
  });
});
