import { existsSync, statSync } from 'node:fs';
import { delay, performance } from '../../host/real-timers.ts';
import { ok, problem, warning, type Finding } from './finding.ts';

/** hookbox is younger than this. */
const EARLIEST = Date.UTC(2024, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);
const SAMPLE_MS = 200;
/** How much the clock may be away from the monotonic one after the sample: it is being set, or runs at a wrong speed. */
const TOLERATED_DRIFT_MS = 50;
const TOLERATED_FUTURE_MS = 60_000;

const ADVICE = 'Set the clock with NTP: retries and the order of events depend on the clock.';

/** What can be told of the clock without asking anybody else. */
export async function checkClock(files: readonly string[]): Promise<Finding> {
  const wall = Date.now();
  const monotonic = performance.now();
  await delay(SAMPLE_MS);
  const drift = Date.now() - wall - (performance.now() - monotonic);
  const times = files.filter((file) => existsSync(file)).map((file) => ({ file, at: statSync(file).mtimeMs }));
  return judgeClock(wall, drift, times);
}

/** Judges what the clock shows, how far it moved by itself, and files that it has dated. */
export function judgeClock(
  now: number,
  driftMs: number,
  files: readonly { readonly file: string; readonly at: number }[],
): Finding {
  const shown = new Date(now).toISOString();
  if (now < EARLIEST || now > LATEST) return problem('clock', `the clock shows ${shown}`, ADVICE);
  const future = files.find(({ at }) => at > now + TOLERATED_FUTURE_MS);
  if (future !== undefined) {
    const what = `the clock shows ${shown}, but ${future.file} was last modified after that time`;
    return warning('clock', what, `${ADVICE} The clock was ahead then, or is behind now.`);
  }
  if (Math.abs(driftMs) > TOLERATED_DRIFT_MS) {
    return warning(
      'clock',
      `the clock jumped by ${Math.round(driftMs)} ms within ${SAMPLE_MS} ms`,
      `${ADVICE} Another program may be changing the clock.`,
    );
  }
  return ok('clock', `the clock shows ${shown}`);
}
