import { performance } from '../host/real-timers.ts';
import { ConfigurationError } from '../errors.ts';
import { parseDuration } from '../ops/words/read-time.ts';

/**
 * The one time of a sandbox, in whole milliseconds since 1970. It never goes back: what was written is never in the future,
 * and what is due comes due.
 */
export interface SandboxClock {
  /** A real clock goes by itself; a frozen one stands still until it is moved. */
  readonly kind: 'real' | 'frozen';
  now(): number;
  /** Goes on to a time; nothing happens where that has passed. */
  moveTo(at: number): void;
  /** What a file keeps of the clock, so that a sandbox that is opened again goes on where it was. */
  reading(): ClockReading;
  /** Goes on where a sandbox was when it ended, however it ended. */
  resume(reading: ClockReading): void;
}

/** What a clock showed. */
export interface ClockReading {
  readonly now: number;
  /** how much further it had been moved than the time of day */
  readonly ahead: number;
}

/** The latest time that a Date can show, and four digits of a year still hold. */
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** By how much the time of day may be behind the time that has passed before it counts as set back. */
const SLACK_MS = 250;

/** Where the real clock gets its times from; tests bring others. */
export interface TimeSource {
  /** milliseconds since 1970, and moved by whoever sets the machine's clock */
  timeOfDay(): number;
  /** milliseconds since some moment; nobody moves it, and it may stand still while the machine sleeps */
  timePassed(): number;
}

const machine: TimeSource = { timeOfDay: () => Date.now(), timePassed: () => performance.now() };

/**
 * A clock that stands still until it is moved.
 *
 * @param startAt - what it shows at first
 */
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

/**
 * The time of day, moved ahead by as much as it was told to. When the machine's clock is set back, this one goes on as if
 * nothing had happened; when the machine has slept, it has slept too.
 */
export function realClock(source: TimeSource = machine): SandboxClock {
  let ahead = 0;
  let shown = -Infinity;
  let seen = look(source);

  function now(): number {
    const is = look(source);
    const expected = seen.timeOfDay + (is.timePassed - seen.timePassed);
    const setBack = Math.round(expected - is.timeOfDay);
    if (setBack > SLACK_MS) ahead += setBack;
    seen = is;
    // At the end of its years it stands still: a file that was moved there can be opened all the same.
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

function look(source: TimeSource): { readonly timeOfDay: number; readonly timePassed: number } {
  return { timeOfDay: source.timeOfDay(), timePassed: source.timePassed() };
}

/** @throws ConfigurationError `INVALID_OPTION` for a time that the clock does not show */
export function checkedTime(at: number): number {
  if (Number.isSafeInteger(at) && at >= 0 && at <= LATEST) return at;
  throw new ConfigurationError('INVALID_OPTION', 'The sandbox clock must stay between the years 1970 and 9999.');
}

/**
 * How long the clock is to be moved: milliseconds, or a text such as `30 min`, `1h 30m` or `2 d`.
 *
 * @throws ConfigurationError `INVALID_OPTION` for anything else, and for what would take it back
 */
export function durationMs(duration: number | string): number {
  const ms = typeof duration === 'string' ? parseDuration(duration) : duration;
  if (ms !== null && Number.isSafeInteger(ms) && ms >= 0) return ms;
  const message =
    `The duration must be a string such as '30 min' or '1h30m' (units: ms, s, min, h, d), ` +
    `not ${JSON.stringify(duration)}. In code, it can also be a whole number of milliseconds.`;
  throw new ConfigurationError('INVALID_OPTION', message);
}
