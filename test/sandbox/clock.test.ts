import { describe, expect, it } from 'vitest';
import { durationMs, frozenClock, realClock, type TimeSource } from '../../src/sandbox/clock.ts';
import { START } from './shop.ts';

function machine(): { source: TimeSource; pass: (ms: number) => void; set: (ms: number) => void } {
  let timeOfDay = START;
  let passed = 0;
  return {
    source: { timeOfDay: () => timeOfDay, timePassed: () => passed },
    pass(ms) {
      timeOfDay += ms;
      passed += ms;
    },
    set(ms) {
      timeOfDay += ms;
    },
  };
}

describe('a frozen clock', () => {
  it('stands still until it is moved, and is never moved back', () => {
    const clock = frozenClock(START);
    clock.moveTo(START + 5);
    clock.moveTo(START + 3);
    expect(clock.now()).toBe(START + 5);
  });

  it.each([-1, 1.5, NaN, Infinity, Date.UTC(10_000, 0)])('shows no time such as %d', (at) => {
    expect(() => frozenClock(at)).toThrow('between the years 1970 and 9999');
    expect(() => frozenClock(START).moveTo(at)).toThrow('between the years 1970 and 9999');
  });
});

describe('a real clock', () => {
  it('shows the time of day, and further what it was moved ahead', () => {
    const { source, pass } = machine();
    const clock = realClock(source);
    pass(1_000);
    expect(clock.now()).toBe(START + 1_000);
    clock.moveTo(START + 60_000);
    pass(1_000);
    expect(clock.now()).toBe(START + 61_000);
  });

  it('goes on as if nothing had happened when the clock of the machine is set back', () => {
    const { source, pass, set } = machine();
    const clock = realClock(source);
    pass(1_000);
    set(-3_600_000);
    pass(500);
    expect(clock.now()).toBe(START + 1_500);
    pass(500);
    expect(clock.now()).toBe(START + 2_000);
  });

  it('never goes back by as little as a clock is corrected by, and does not gain by it either', () => {
    const { source, pass, set } = machine();
    const clock = realClock(source);
    pass(100);
    const before = clock.now();
    set(-50);
    expect(clock.now()).toBe(before);
    pass(100);
    expect(clock.now()).toBe(START + 150);
  });

  it('stands still at the end of the year 9999', () => {
    const { source, pass } = machine();
    const clock = realClock(source);
    const end = Date.parse('9999-12-31T23:59:59.999Z');
    clock.moveTo(end - 10);
    pass(11);
    expect(clock.now()).toBe(end);
    const again = realClock(source);
    again.resume(clock.reading());
    pass(3_600_000);
    expect([clock.now(), again.now()]).toEqual([end, end]);
  });

  it('sleeps with the machine: what is due meanwhile is due when it wakes up', () => {
    const { source, set } = machine();
    const clock = realClock(source);
    clock.now();
    set(8 * 3_600_000); // nothing has passed for timers
    expect(clock.now()).toBe(START + 8 * 3_600_000);
  });

  it('goes on after what a file says was the last time, also when the machine says earlier', () => {
    const { source, pass } = machine();
    const clock = realClock(source);
    clock.resume({ now: START + 5_000, ahead: 0 });
    expect(clock.now()).toBe(START + 5_000);
    pass(10);
    expect(clock.now()).toBe(START + 5_010);
    expect(clock.reading()).toEqual({ now: START + 5_010, ahead: 5_000 });
  });

  it('keeps what it was moved ahead across a pause', () => {
    const { source } = machine();
    const clock = realClock(source);
    clock.resume({ now: START - 60_000, ahead: 3_600_000 });
    expect(clock.now()).toBe(START + 3_600_000);
  });
});

describe('what a clock is moved by', () => {
  it.each([
    ['30 min', 1_800_000],
    ['1h 30m', 5_400_000],
    ['2 d', 172_800_000],
    ['500ms', 500],
    ['0', 0],
    [250, 250],
    [0, 0],
  ])('%j', (duration, ms) => {
    expect(durationMs(duration)).toBe(ms);
  });

  it.each(['', 'soon', '-5 min', '5 minutes or so', -1, 0.5, NaN, Infinity])('is not %j', (duration) => {
    expect(() => durationMs(duration)).toThrow("a string such as '30 min'");
  });
});
