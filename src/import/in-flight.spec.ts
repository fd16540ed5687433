import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { InFlight } from './in-flight.js';

/** Whether a promise is kept within a turn of the event loop. */
async function isKept(promise: Promise<void>): Promise<boolean> {
  return Promise.race([promise.then(() => true), turn(false)]);
}

describe('InFlight', () => {
  it('bounds the number', async () => {
    const inFlight = new InFlight(2, 1_000);
    inFlight.enter(1);
    expect(await isKept(inFlight.room(1))).toBe(true);
    inFlight.enter(1);
    const room = inFlight.room(1);
    expect(await isKept(room)).toBe(false);
    inFlight.leave(1);
    expect(await isKept(room)).toBe(true);
  });

  it('bounds the bytes, but lets a greater one in on its own', async () => {
    const inFlight = new InFlight(10, 100);
    expect(await isKept(inFlight.room(101))).toBe(true);
    inFlight.enter(60);
    expect(await isKept(inFlight.room(40))).toBe(true);
    inFlight.enter(40);
    const room = inFlight.room(41);
    inFlight.leave(40);
    expect(await isKept(room)).toBe(false);
    inFlight.leave(60);
    expect(await isKept(room)).toBe(true);
  });

  it('tells when nothing is under way', async () => {
    const inFlight = new InFlight(10, 100);
    expect(await isKept(inFlight.empty())).toBe(true);
    inFlight.enter(1);
    inFlight.enter(1);
    const empty = inFlight.empty();
    inFlight.leave(1);
    expect(await isKept(empty)).toBe(false);
    inFlight.leave(1);
    expect(await isKept(empty)).toBe(true);
  });
});
