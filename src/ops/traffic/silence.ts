import type { CountSpan } from '../../inbox/operator/counts.ts';
import { atLeastIn, comparedSpans, DAY_MS, HOUR_MS, usualIn, type History } from './rhythm.ts';

/** Silence is told after ten minutes, or when as much as this should have come: events of an order come together. */
const LEAST_SILENCE_MS = 10 * 60_000;
const LEAST_MISSED = 50;
/** Refusals are told from so many on; of a shop that has nothing to compare with, but has taken deliveries in, from more. */
const LEAST_REJECTED = 5;
const LEAST_REJECTED_UNKNOWN = 20;
/** Where so little is usual, what is rejected need not be the service's. */
const LEAST_USUAL = 5;
/** Nearly all: one in twenty may be accepted, and a fifth of what is usual. */
const MOST_ACCEPTED_OF_REJECTED = 1 / 20;
const MOST_ACCEPTED_OF_USUAL = 1 / 5;
/** Refusals are looked at since the last delivery that was accepted, or for an hour; but for no longer than this. */
const LONGEST_REFUSING_MS = 7 * DAY_MS;

/**
 * The spans that tell whether it is silent: what should have come in the first hour, on the first day and, where little comes, in
 * the first week of a silence. What was silence then still is, as nothing has come since.
 */
export function silentSpans(last: number, now: number): readonly CountSpan[] {
  if (now - last < LEAST_SILENCE_MS) return [];
  const lengths = [HOUR_MS, DAY_MS, 7 * DAY_MS];
  return lengths
    .filter((_, n) => now - last > (lengths[n - 1] ?? 0))
    .map((length) => ({ since: last, until: Math.min(now, last + length) }));
}

/** Whether nothing has come since then although much should have. */
export function isSilent(last: number, now: number, history: History): boolean {
  return silentSpans(last, now).some((span) => (atLeastIn(span, history) ?? 0) >= LEAST_MISSED);
}

/** In which rejections are looked at. */
export function rejectingSpan(last: number | null, now: number): CountSpan {
  // What was counted in the minute of the last one may have come before it.
  const since = Math.min(last === null ? -Infinity : last + 1, now - HOUR_MS);
  return { since: Math.max(since, now - LONGEST_REFUSING_MS), until: now };
}

/** What became of the deliveries of a span. */
export interface Came {
  readonly accepted: number;
  readonly rejected: number;
  /** any was accepted ever before */
  readonly everAccepted: boolean;
}

/** Whether (nearly) every delivery is rejected, as after a wrong secret. A stranger's forged ones beside usual traffic are not. */
export function isRejecting(span: CountSpan, { accepted, rejected, everAccepted }: Came, history: History): boolean {
  if (rejected < LEAST_REJECTED || accepted > rejected * MOST_ACCEPTED_OF_REJECTED) return false;
  const firstHour = { since: span.since, until: span.since + HOUR_MS };
  const known = [firstHour, span].flatMap((each) => atLeastIn(each, history) ?? []);
  const usual = Math.max(...known);
  if (known.length > 0) return usual >= LEAST_USUAL && accepted <= usual * MOST_ACCEPTED_OF_USUAL;
  return accepted === 0 && (!everAccepted || rejected >= LEAST_REJECTED_UNKNOWN);
}

/** The last hour, or the last day, which say how often something comes at this time. */
export function spanOfGap(now: number, length: 'hour' | 'day'): CountSpan {
  return { since: now - (length === 'hour' ? HOUR_MS : DAY_MS), until: now };
}

/** From one delivery to the next, in a span of earlier days; `null` for fewer than one, and where nobody can tell. */
export function usualGapMs(span: CountSpan, history: History): number | null {
  const usual = usualIn(span, history);
  return usual === null || usual < 1 ? null : (span.until - span.since) / usual;
}

/** That of the hour, or that of the day where one an hour is more than comes on any: else it only is a quiet hour. */
export function gapOf(hourly: number | null, daily: number | null): number | null {
  return hourly ?? (daily !== null && daily > HOUR_MS ? daily : null);
}

/** What has to be known of earlier days to tell all of this, and how often something comes at this hour. */
export function spansToKnow(last: number | null, now: number, begin: number): readonly CountSpan[] {
  const spans = [spanOfGap(now, 'hour'), rejectingSpan(last, now), ...(last === null ? [] : silentSpans(last, now))];
  return spans.flatMap((span) => comparedSpans(span, begin));
}
