import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { outcomeOf, PlantsClient, type Outcome } from './plants-client.js';

const ERROR = '{"error":5002,"message":"overloaded"}';

describe('PlantsClient', () => {
  const PLANT = Buffer.from('{"id":1,"name":"Alder"}');
  const STORED = { status: 200, body: '{"name":"Alder"}' };
  const UNAVAILABLE = { status: 503, body: '{"error":5001,"message":"unavailable"}' };

  /** What the service answers in turn, the last for good; it breaks the connection where there is no answer. */
  let answers: ({ readonly status: number; readonly body: string } | undefined)[];
  let sent: string[];
  let server: Server;
  let client: PlantsClient;

  beforeEach(async () => {
    sent = [];
    server = createServer((request, response) => {
      void text(request).then((plant) => {
        sent.push(plant);
        const answer = answers[Math.min(sent.length, answers.length) - 1];
        if (answer) response.writeHead(answer.status).end(answer.body);
        else request.socket.destroy();
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = clientWith(3, 1);
  });
  afterEach(async () => {
    await client.close();
    server.close();
  });

  function clientWith(tries: number, firstDelayMs: number): PlantsClient {
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return new PlantsClient(url, 't', 1, { tries, firstDelayMs });
  }

  it('sends the same text again until there is an answer', async () => {
    answers = [undefined, UNAVAILABLE, STORED];
    expect(await client.create(PLANT)).toBeUndefined();
    expect(sent).toEqual(Array(3).fill(PLANT.toString()));
    expect(client.lastError).toBeUndefined();
  });

  it('gives up after so many tries and says why', async () => {
    answers = [undefined, UNAVAILABLE];
    const reason = '503, error 5001: unavailable';
    await expect(client.create(PLANT)).rejects.toThrow(`gave up after 3 attempts (${reason})`);
    expect(sent).toHaveLength(3);
    expect(client.lastError).toBe(reason);
  });

  it('says that nobody listens', async () => {
    server.close();
    await expect(client.create(PLANT)).rejects.toThrow(/attempts \(.*connect ECONNREFUSED 127/);
  });

  it('returns a refusal, which no further try would change', async () => {
    answers = [{ status: 400, body: '{"error":1004,"message":"taken"}' }];
    expect(await client.create(PLANT)).toMatchObject({ error: 1004, message: 'taken' });
    expect(sent).toHaveLength(1);
  });

  it('once stopped, neither waits nor tries again', async () => {
    answers = [UNAVAILABLE];
    await client.close();
    client = clientWith(3, 600_000);
    const waiting = client.create(PLANT);
    const stopped = expect(waiting).rejects.toThrow('aborted');
    while (client.lastError === undefined) await new Promise(setImmediate);
    client.stop();
    await stopped;
    await expect(client.create(PLANT)).rejects.toThrow('gave up after 1 attempt');
    expect(sent).toHaveLength(2);
  });
});

describe('outcomeOf', () => {
  it.each<[number, string, Outcome]>([
    [200, '{"name":""}', { kind: 'stored' }],
    [400, '{"error":1003,"message":"m"}', { kind: 'refused', error: 1003, message: 'm' }],
    [503, ERROR, { kind: 'retry', reason: '503, error 5002: overloaded', delayMs: 0 }],
    [429, ERROR, { kind: 'retry', reason: '429, error 5002: overloaded', delayMs: 0 }],
    [502, '<html>', { kind: 'retry', reason: '502', delayMs: 0 }],
  ])('reads %i %s', (status, body, outcome) => {
    expect(outcomeOf(status, body)).toEqual(outcome);
  });

  it.each([
    ['2', 2_000],
    ['0', 0],
    ['soon', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['99999999999', 600_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 600_000],
  ])('waits as Retry-After: %s asks', (retryAfter, delayMs) => {
    expect(outcomeOf(503, ERROR, retryAfter)).toMatchObject({ kind: 'retry', delayMs });
  });

  it.each([
    [401, '{"error":2001,"message":"no"}', 'the service answered 401, error 2001: no'],
    [404, '<html>', 'the answer, with status 404, is not one of a plant store'],
    [200, '{"id":1}', 'the answer, with status 200, is not one of a plant store'],
    [200, 'null', 'the answer, with status 200, is not one of a plant store'],
    [302, '', 'the answer, with status 302, is not one of a plant store'],
    [400, 'Bad Request', 'the answer, with status 400, is not one of a plant store'],
  ])('gives up on %i %s', (status, body, message) => {
    expect(() => outcomeOf(status, body)).toThrow(new Error(message));
  });
});
