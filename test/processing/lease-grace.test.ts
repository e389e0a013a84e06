import { describe, expect, it } from 'vitest';
import { LeaseGrace } from '../../src/processing/leases.ts';

const LEASE = 15_000;
const SECOND = 1_000;

function fresh(): LeaseGrace {
  return new LeaseGrace({ leaseMs: LEASE, lookMs: SECOND, now: 0 });
}

function lookOn(grace: LeaseGrace, from: number, to: number): void {
  for (let now = from; now <= to; now += SECOND) grace.look(now);
}

describe('whether the leases of others have run out is known', () => {
  it('by whoever has looked all the time and could write', () => {
    const grace = fresh();
    lookOn(grace, SECOND, 60_000);
    grace.wrote(60_000, 60_100);
    expect(grace.expiredBy(60_100)).toBe(60_100);
  });

  it('not by one that has slept and claims before it looks again', () => {
    const grace = fresh();
    lookOn(grace, SECOND, 10_000);
    expect(grace.expiredBy(3_600_000)).toBe(10_000);
    lookOn(grace, 3_600_000 + SECOND, 3_600_000 + LEASE);
    expect(grace.expiredBy(3_600_000 + LEASE)).toBe(3_600_000 + LEASE);
  });

  it('by one with short leases, too', () => {
    const grace = new LeaseGrace({ leaseMs: 300, lookMs: SECOND, now: 0 });
    lookOn(grace, SECOND, 60_000);
    expect(grace.expiredBy(60_000)).toBe(60_000);
  });

  it.each<[string, (grace: LeaseGrace) => void]>([
    ['slept', (grace) => void grace.look(3_600_000)],
    [
      'waited for a lock',
      (grace) => {
        lookOn(grace, 11_000, 3_600_000);
        grace.wrote(10_000, 3_600_000);
      },
    ],
    [
      'could not write',
      (grace) => {
        for (let now = 11_000; now <= 3_600_000; now += SECOND) {
          grace.look(now);
          grace.failed(now);
        }
      },
    ],
  ])('one lease after it for one who has %s, and as of before until then', (_, happens) => {
    const grace = fresh();
    lookOn(grace, SECOND, 10_000);
    grace.wrote(10_000, 10_000);
    happens(grace);
    lookOn(grace, 3_601_000, 3_614_000);
    expect(grace.expiredBy(3_614_999)).toBe(10_000);
    expect(grace.expiredBy(3_615_000)).toBe(3_615_000);
    expect(grace.expiredBy(3_615_001)).toBe(3_615_001);
  });

  it('now and then by one whose every write is slow: what a dead process left behind is found', () => {
    const grace = fresh();
    const known: number[] = [];
    for (let asked = 0; asked < 10 * 11_000; asked += 11_000) {
      if (grace.expiredBy(asked) === asked) known.push(asked);
      lookOn(grace, asked + SECOND, asked + 11_000);
      grace.wrote(asked, asked + 11_000);
    }
    expect(known.length).toBeGreaterThan(2);
    expect(known.length).toBeLessThan(8);
  });

  it.each([
    ['fails once in ten seconds', 10, 1],
    ['fails for six seconds of twenty', 20, 6],
    ['fails every other second', 2, 1],
  ])('now and then by one whose disk %s', (_, everyS, failingS) => {
    const grace = fresh();
    const known: number[] = [];
    for (let second = 1; second <= 120; second += 1) {
      const now = second * SECOND;
      grace.look(now);
      const isKnown = grace.expiredBy(now) === now;
      if (second % everyS < failingS) grace.failed(now);
      else {
        grace.wrote(now, now);
        if (isKnown) known.push(now);
      }
    }
    expect(known.filter((now) => now > 4 * LEASE).length).toBeGreaterThan(0);
  });

  it('not when the disk has been full for long, while it doubted already', () => {
    const grace = fresh();
    grace.look(3_600_000);
    grace.wrote(3_601_000, 3_601_000);
    for (let now = 3_602_000; now <= 7_200_000; now += SECOND) {
      grace.look(now);
      grace.expiredBy(now);
      grace.failed(now);
    }
    grace.look(7_201_000);
    expect(grace.expiredBy(7_201_000)).toBeLessThanOrEqual(3_601_000);
  });

  it('by one that was not asked for hours but was awake', () => {
    const grace = fresh();
    grace.wasAwake(3_600_000);
    grace.look(3_600_000);
    expect(grace.expiredBy(3_600_000)).toBe(3_600_000);
  });

  it('as of the first of several such times', () => {
    const grace = fresh();
    lookOn(grace, SECOND, 10_000);
    grace.look(100_000);
    grace.look(101_000);
    lookOn(grace, 200_000, 214_000);
    expect(grace.expiredBy(214_999)).toBe(10_000);
    expect(grace.expiredBy(215_000)).toBe(215_000);
  });

  it('soon after the clock was set back, of which it tells', () => {
    const grace = fresh();
    expect(grace.look(3_600_000)).toBe(false);
    expect(grace.look(1_000)).toBe(true);
    expect(grace.expiredBy(1_000)).toBe(0);
    expect(grace.look(2_000)).toBe(true);
    grace.claimed(2_000, 2_000);
    expect(grace.look(3_000)).toBe(false);
    lookOn(grace, 4_000, 16_000);
    expect(grace.expiredBy(16_000)).toBe(16_000);
  });

  it('not by a claim that could not be made: that the clock was set back is told until one is', () => {
    const grace = fresh();
    grace.look(3_600_000);
    grace.look(1_000);
    grace.failed(1_000);
    expect(grace.look(2_000)).toBe(true);
  });

  it('not by a write that was asked for before the clock was set back: a claim has to follow it', () => {
    const grace = fresh();
    grace.look(3_600_000);
    grace.look(1_000);
    grace.claimed(1_000, 1_000);
    grace.wrote(3_600_000, 1_100);
    expect(grace.look(2_000)).toBe(true);
  });
});
