import { describe, expect, it } from '@jest/globals';
import { PlantsClient } from './plants-client.js';
import type { HttpAnswer } from './post.js';

const PLANT = Buffer.from('{"id":1,"name":"Alder"}');
const STORED: HttpAnswer = { status: 200, headers: {}, body: '{"name":"Alder"}' };
const AWAY: HttpAnswer = { status: 503, headers: {}, body: '{"error":5001,"message":"away"}' };
const BROKEN = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
const RETRY_POLICY = { tries: 3, first: 1, longest: 2 };

/** A service that gives these answers in turn, the last one for ever. */
function service(...answers: (HttpAnswer | Error)[]) {
  const sent: string[] = [];
  const post = (json: Buffer): Promise<HttpAnswer> => {
    const answer = answers[Math.min(sent.length, answers.length - 1)] ?? STORED;
    sent.push(json.toString());
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  return { post, sent };
}

describe('PlantsClient', () => {
  it('sends the same text again until there is an answer', async () => {
    const { post, sent } = service(BROKEN, AWAY, STORED);
    const client = new PlantsClient(post, RETRY_POLICY);
    expect(await client.create(PLANT)).toBeUndefined();
    expect(sent).toEqual(Array(3).fill(PLANT.toString()));
    expect(client.lastError).toBeUndefined();
  });

  it('gives up after so many tries and says why', async () => {
    const { post, sent } = service(AWAY, BROKEN);
    const client = new PlantsClient(post, RETRY_POLICY);
    await expect(client.create(PLANT)).rejects.toThrow('gave up after 3 attempts (ECONNREFUSED)');
    expect(sent).toHaveLength(3);
    expect(client.lastError).toBe('ECONNREFUSED');
  });

  it('returns a refusal, which no further try would change', async () => {
    const body = '{"error":1004,"message":"taken"}';
    const { post, sent } = service({ status: 400, headers: {}, body });
    const refusal = await new PlantsClient(post, RETRY_POLICY).create(PLANT);
    expect(refusal).toMatchObject({ error: 1004, message: 'taken' });
    expect(sent).toHaveLength(1);
  });

  it('once stopped, neither waits nor tries again', async () => {
    const { post, sent } = service(AWAY);
    const client = new PlantsClient(post, { tries: 3, first: 600_000, longest: 600_000 });
    const waiting = client.create(PLANT);
    setImmediate(() => client.stop());
    await expect(waiting).rejects.toThrow('aborted');
    await expect(client.create(PLANT)).rejects.toThrow('gave up after 1 attempt');
    expect(sent).toHaveLength(2);
  });
});
