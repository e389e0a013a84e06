import { performance } from '../host/real-timers.ts';
import { ConfigurationError } from '../errors.ts';
import { parseDuration } from '../ops/words/read-time.ts';

/** The time of a sandbox, in whole milliseconds since 1970. It never goes back. */
export interface SandboxClock {
  /** A real clock runs by itself; a frozen one moves only with `moveTo`. */
  readonly kind: 'real' | 'frozen';
  now(): number;
  moveTo(at: number): void;
  reading(): ClockReading;
  resume(reading: ClockReading): void;
}

export interface ClockReading {
  readonly now: number;
  /** How far ahead of the time of day the clock was moved. */
  readonly ahead: number;
}

const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** The time of day may be this far behind before it counts as set back. */
const SLACK_MS = 250;

export interface TimeSource {
  /** milliseconds since 1970; it jumps when the machine's clock is set */
  timeOfDay(): number;
  /** It never jumps, and may stop while the machine sleeps. */
  timePassed(): number;
}

const machine: TimeSource = { timeOfDay: () => Date.now(), timePassed: () => performance.now() };

export function frozenClock(startAt: number): SandboxClock {
  let now = checkedTime(startAt);
  return {
    kind: 'frozen',
    now: () => now,
    moveTo(at) {
      now = Math.max(now, checkedTime(at));
    },
    reading: () => ({ now, ahead: 0 }),
    resume(reading) {
      now = reading.now;
    },
  };
}

/** If the machine's clock is set back, this clock continues. If the machine has slept, this clock jumps ahead. */
export function realClock(source: TimeSource = machine): SandboxClock {
  let ahead = 0;
  let shown = -Infinity;
  const look = () => ({ timeOfDay: source.timeOfDay(), timePassed: source.timePassed() });
  let seen = look();

  function now(): number {
    const is = look();
    const expected = seen.timeOfDay + (is.timePassed - seen.timePassed);
    const setBack = Math.round(expected - is.timeOfDay);
    if (setBack > SLACK_MS) ahead += setBack;
    seen = is;
    // A file with a later time could not be opened.
    shown = Math.max(shown, checkedTime(Math.min(Math.floor(is.timeOfDay + ahead), LATEST)));
    return shown;
  }

  return {
    kind: 'real',
    now,
    moveTo(at) {
      const missing = checkedTime(at) - now();
      if (missing <= 0) return;
      ahead += missing;
      now();
    },
    reading: () => ({ now: now(), ahead }),
    resume(reading) {
      ahead = Math.max(ahead, reading.ahead, reading.now - source.timeOfDay());
    },
  };
}

export function checkedTime(at: number): number {
  if (Number.isSafeInteger(at) && at >= 0 && at <= LATEST) return at;
  throw new ConfigurationError('INVALID_OPTION', 'The sandbox clock must stay between the years 1970 and 9999.');
}

/** @throws ConfigurationError `INVALID_OPTION` */
export function durationMs(duration: number | string): number {
  const ms = typeof duration === 'string' ? parseDuration(duration) : duration;
  if (ms !== null && Number.isSafeInteger(ms) && ms >= 0) return ms;
  const message =
    `The duration must be a string such as '30 min' or '1h30m' (units: ms, s, min, h, d), ` +
    `not ${JSON.stringify(duration)}. In code, it can also be a whole number of milliseconds.`;
  throw new ConfigurationError('INVALID_OPTION', message);
}
