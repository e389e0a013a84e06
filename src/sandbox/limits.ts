import { assertOption, assertOptions, whole, oneOf, type RulesFor } from '../option-rules.ts';
import type { Assumptions } from './assumptions.ts';
import { ApiError } from './errors.ts';
import { timeText } from './resources.ts';
import type { Reading, Transaction } from './store.ts';

export const LIMIT_TABLES = `
  CREATE TABLE limit_windows (
    whose TEXT NOT NULL, length TEXT NOT NULL, start_ms INTEGER NOT NULL, used INTEGER NOT NULL,
    PRIMARY KEY (whose, length)
  ) STRICT, WITHOUT ROWID;
`;

/** The limits of a plan. An unset limit does not apply. */
export interface PlanLimits {
  readonly perMonth?: number;
  readonly perSecond?: number;
  /** The limit for bursts: requests per 10 seconds. */
  readonly perTenSeconds?: number;
}

/** Interface 8.2. */
const PLANS = {
  Free: { perMonth: 1_000, perSecond: 5, perTenSeconds: 10 },
  Developer: { perMonth: 50_000, perSecond: 25, perTenSeconds: 100 },
  Business: { perMonth: 500_000, perSecond: 100, perTenSeconds: 500 },
  Enterprise: {},
} as const satisfies Readonly<Record<string, PlanLimits>>;

const PLAN_RULES: RulesFor<PlanLimits> = { perMonth: whole(), perSecond: whole(), perTenSeconds: whole() };

/** A plan (section 8.2 of the service's interface). */
export type PlanName = keyof typeof PLANS;

type Length = 'second' | 'ten seconds' | 'minute' | 'hour' | 'day' | 'month';

const LENGTH_MS = {
  second: 1_000,
  'ten seconds': 10_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
} as const satisfies Partial<Record<Length, number>>;

export interface Limit {
  readonly length: Length;
  /** The maximum number of requests in the window. */
  readonly most: number;
}

export function limitsOf(plan: PlanName | PlanLimits, { perMinute, perHour, perDay }: Assumptions): readonly Limit[] {
  if (typeof plan === 'string') assertOption('plan', plan, oneOf(...Object.keys(PLANS)));
  else assertOptions('plan', plan, PLAN_RULES);
  const limits: PlanLimits = typeof plan === 'string' ? PLANS[plan] : plan;
  const all: readonly (readonly [Length, number | undefined])[] = [
    ['second', limits.perSecond],
    ['ten seconds', limits.perTenSeconds],
    ['minute', perMinute],
    ['hour', perHour],
    ['day', perDay],
    ['month', limits.perMonth],
  ];
  return all.flatMap(([length, most = 0]) => (most === 0 ? [] : [{ length, most }]));
}

/** The use of a limit in the current window. */
export interface LimitUse extends Limit {
  readonly used: number;
  readonly endsAt: Date;
}

/** Returns how much of each limit a key has used. The account uses the month. */
export function listUse(
  db: Reading,
  keyId: string,
  limits: readonly Limit[],
  { signedUpMs, now }: { readonly signedUpMs: number; readonly now: number },
): readonly LimitUse[] {
  return limits.map((limit) => {
    const { used, end } = windowOf(db, keyId, limit, signedUpMs, now);
    return { ...limit, used, endsAt: new Date(end) };
  });
}

interface Counted {
  /** interface 8.4 */
  readonly headers: Readonly<Record<string, string>>;
  readonly refusal: ApiError<'RATE_LIMIT_EXCEEDED'> | null;
}

interface Window extends Limit {
  readonly whose: string;
  readonly start: number;
  readonly end: number;
  readonly used: number;
}

/** Counts a request in all windows, or in none if one is full (A10). */
export function countRequest(
  tx: Transaction,
  keyId: string,
  limits: readonly Limit[],
  { signedUpMs, resetAsIso }: { readonly signedUpMs: number; readonly resetAsIso: boolean },
): Counted {
  const windows = limits.map((limit) => windowOf(tx, keyId, limit, signedUpMs, tx.now));
  const full = windows.filter(({ used, most }) => used >= most);
  // After the last of them has ended, a request passes.
  const refusing = full.toSorted((a, b) => b.end - a.end)[0];
  if (refusing === undefined) {
    for (const { whose, length, start, used } of windows) {
      tx.run('INSERT OR REPLACE INTO limit_windows VALUES (?, ?, ?, ?)', whose, length, start, used + 1);
    }
    const tightest = windows.toSorted((a, b) => a.most - a.used - (b.most - b.used))[0];
    return { headers: tightest === undefined ? {} : headersOf(tightest, 1), refusal: null };
  }
  const { end, most } = refusing;
  const wait = Math.max(1, Math.ceil((end - tx.now) / 1_000));
  return {
    headers: { ...headersOf(refusing, 0), 'X-RateLimit-Retry-After': String(wait) },
    refusal: new ApiError('RATE_LIMIT_EXCEEDED', `Too many requests: the limit is ${most} per ${refusing.length}.`, {
      retry_after: wait,
      limit: most,
      remaining: 0,
      reset: resetAsIso ? timeText(end) : end / 1_000,
    }),
  };
}

function headersOf({ most, used, end }: Window, counted: 0 | 1): Counted['headers'] {
  return {
    'X-RateLimit-Limit': String(most),
    'X-RateLimit-Remaining': String(Math.max(0, most - used - counted)),
    'X-RateLimit-Reset': String(end / 1_000),
  };
}

function windowOf(db: Reading, keyId: string, limit: Limit, signedUpMs: number, now: number): Window {
  const { length } = limit;
  // The month belongs to the account, so that a new key does not start a new month.
  const whose = length === 'month' ? '' : keyId;
  const [start, end] = length === 'month' ? monthOf(now, signedUpMs) : fixedWindow(now, LENGTH_MS[length]);
  const sql = 'SELECT used FROM limit_windows WHERE whose = ? AND length = ? AND start_ms = ?';
  const used = db.get<{ used: number }>(sql, whose, length, start)?.used ?? 0;
  return { ...limit, whose, start, end, used };
}

function fixedWindow(now: number, length: number): readonly [start: number, end: number] {
  const start = Math.floor(now / length) * length;
  return [start, start + length];
}

/** From the day of sign-up to the same day of the next month, or its last day if it is shorter. */
function monthOf(now: number, signedUpMs: number): readonly [start: number, end: number] {
  const date = new Date(now);
  const begins = (month: number): number => {
    const year = date.getUTCFullYear();
    const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
    return Date.UTC(year, month, Math.min(new Date(signedUpMs).getUTCDate(), lastDay));
  };
  const month = date.getUTCMonth();
  return begins(month) <= now ? [begins(month), begins(month + 1)] : [begins(month - 1), begins(month)];
}
