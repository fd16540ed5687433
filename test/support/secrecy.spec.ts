/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { createSecret } from '../../src/auth/tokens/token.entity.js';
import { assertSecrecy, Log, recordSecrets } from './secrecy.js';

/** The finding of the check in a log with these pieces. The log is emptied, as every test is checked too. */
function judge(...pieces: string[]): string | undefined {
  const log = new Log();
  for (const piece of pieces) log.write(piece);
  try {
    assertSecrecy();
    return undefined;
  } catch (error) {
    return (error as Error).message;
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
    expect(judge('a line\n{"msg":"', shown.slice(0, 7), shown.slice(7), '"}\n')).toBe(
      `a log shows ${shown}: {"msg":"${shown}"}`,
    );
  });

  it('allows only the first token of a start in development', () => {
    const secret = createSecret();
    const printed = `Shown only now:\n\n  ${secret}\n\n  curl x -H 'Authorization: Bearer ${secret}'\n`;
    expect(judge(printed)).toBeUndefined();
    expect(judge(printed, `10:00:00.000 INFO  [Errors] ${secret}\n`)).toContain('a log shows');
  });
});
