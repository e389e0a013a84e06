import type { Rate, Rates, Scope } from '../work.ts';
import type { ClosedLane } from './pauses.ts';

/** The number of attempts that began at a time, or shortly before it. */
type Start = readonly [at: number, count: number];

/** A rate with the attempts that count towards it. */
export interface StoredRate extends ClosedLane, Rate {
  /** Attempts are kept for this long: in a deploy, another process may still have a longer span. */
  readonly keptMs: number;
  /** The oldest first. */
  readonly starts: readonly Start[];
}

export interface RateRow {
  readonly endpoint: string;
  readonly type: string;
  readonly count: number;
  readonly per_ms: number;
  readonly kept_ms: number;
  /** JSON */
  readonly but: string | null;
  /** JSON */
  readonly starts: string;
}

export const RATE_COLUMNS = 'endpoint, type, count, per_ms, kept_ms, but, starts';

export function rateOf({ endpoint, type, count, per_ms: perMs, kept_ms: keptMs, but, starts }: RateRow): StoredRate {
  const others = but !== null && { but: JSON.parse(but) as readonly string[] }; // as `rateWrite` wrote them
  return { endpoint, type, count, perMs, keptMs, ...others, starts: JSON.parse(starts) as readonly Start[] };
}

export function rateWrite(rates: string, { endpoint, type, count, perMs, keptMs, but, starts }: StoredRate) {
  return {
    text: `
      INSERT INTO ${rates} (${RATE_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT (endpoint, type) DO UPDATE SET count = excluded.count, per_ms = excluded.per_ms,
        kept_ms = excluded.kept_ms, but = excluded.but, starts = excluded.starts`,
    values: [
      endpoint,
      type,
      count,
      perMs,
      keptMs,
      but === undefined ? null : JSON.stringify(but),
      JSON.stringify(starts),
    ],
  };
}

export interface RatesRequest {
  readonly endpoints: Scope['endpoints'];
  readonly types: readonly string[];
}

/** One for each endpoint and type, also if none of its attempts ever began. */
export function ratesIn(
  endpoints: readonly string[],
  types: readonly string[],
  known: readonly StoredRate[],
): readonly StoredRate[] {
  const byName = new Map(known.map((rate) => [nameOf(rate.endpoint, rate.type), rate]));
  return endpoints.flatMap((endpoint) =>
    types.map((type) => {
      const none = { endpoint, type, count: 0, perMs: 0, keptMs: 0, starts: [] };
      return byName.get(nameOf(endpoint, type)) ?? none;
    }),
  );
}

/** When one more attempt may begin: in the future only if the rate is reached. */
export function freeAt({ count, perMs, starts }: StoredRate, now: number): number {
  const recent = starts.filter(([at]) => at > now - perMs);
  let above = sumOf(recent) - count;
  if (above < 0) return now;
  for (const [at, begun] of recent) {
    above -= begun;
    if (above < 0) return at + perMs;
  }
  return now;
}

function sumOf(starts: readonly Start[]): number {
  return starts.reduce((sum, [, count]) => sum + count, 0);
}

interface Usage {
  readonly rate: StoredRate;
  readonly isMoved: boolean;
  readonly left: number;
  taken: number;
}

interface Typed {
  readonly endpoint: string;
  readonly type: string | null;
}

/** The rates of one claim. A rated type at an endpoint whose rate is not loaded waits for the next claim. */
export class RateLimits {
  readonly #rated: Rated;
  readonly #now: number;
  readonly #lanes = new Map<string, Usage>();

  constructor({ rates, named = [], now }: Rated & { readonly now: number }, stored: readonly StoredRate[]) {
    this.#rated = { rates, named };
    this.#now = now;
    for (const known of stored) {
      const own = rates?.[known.type];
      if (own === undefined) continue;
      const { endpoint, type } = known;
      const starts = notAhead(known.starts, now, own.perMs);
      const keptMs = Math.max(known.keptMs, own.perMs);
      const rate = { endpoint, type, ...own, keptMs, ...(type === '*' && { but: named }), starts };
      const left = Math.max(0, own.count - sumOf(starts.filter(([at]) => at > now - own.perMs)));
      this.#lanes.set(nameOf(endpoint, type), { rate, isMoved: starts !== known.starts, left, taken: 0 });
    }
  }

  isFor({ endpoint, type }: Typed): boolean {
    const key = ratedAs(this.#rated, type);
    if (key === null) return true;
    const lane = this.#lanes.get(nameOf(endpoint, key));
    return lane !== undefined && lane.taken < lane.left;
  }

  /** `false` if its type has reached its rate. */
  take({ endpoint, type }: Typed): boolean {
    if (!this.isFor({ endpoint, type })) return false;
    const lane = this.#lanes.get(nameOf(endpoint, ratedAs(this.#rated, type) ?? ''));
    if (lane !== undefined) lane.taken += 1;
    return true;
  }

  get full(): readonly ClosedLane[] {
    return this.#full().map(({ rate }) => rate);
  }

  /** When a type that has reached its rate may begin another attempt; `null` if none has. */
  get freeAt(): number | null {
    const times = this.#full().map((lane) => freeAt(this.#begun(lane), this.#now));
    return times.length === 0 ? null : Math.min(...times);
  }

  begun() {
    return [...this.#lanes.values()]
      .filter(({ taken, isMoved }) => taken > 0 || isMoved)
      .map((lane) => ({ kind: 'attempts begun', rate: this.#begun(lane) }) as const);
  }

  #full(): readonly Usage[] {
    return [...this.#lanes.values()].filter(({ taken, left }) => taken >= left);
  }

  #begun({ rate, taken }: Usage): StoredRate {
    if (taken === 0) return rate;
    // Clocks of two machines may differ by some milliseconds.
    const at = Math.max(this.#now, rate.starts.at(-1)?.[0] ?? 0);
    return { ...rate, starts: merged([...rate.starts, [at, taken]], rate, this.#now) };
  }
}

interface Rated extends Pick<Scope, 'named'> {
  readonly rates?: Rates | undefined;
}

/** The type whose rate counts; `null` without one. A type without its own handler belongs to `'*'`. */
function ratedAs({ rates = {}, named = [] }: Rated, type: string | null): string | null {
  if (type === null) return null;
  if (Object.hasOwn(rates, type)) return type;
  return Object.hasOwn(rates, '*') && !named.includes(type) ? '*' : null;
}

export function isRated(rated: Rated, type: string | null): boolean {
  return ratedAs(rated, type) !== null;
}

function nameOf(endpoint: string, type: string): string {
  return JSON.stringify([endpoint, type]);
}

/** Attempts that began more than a span ahead come from before the clock was set back, and count as of now. */
function notAhead(starts: readonly Start[], now: number, perMs: number): readonly Start[] {
  if (starts.every(([at]) => at <= now + perMs)) return starts;
  return starts.map(([at, count]) => [at > now + perMs ? now : at, count] as const).toSorted(([a], [b]) => a - b);
}

const PARTS = 64;

/**
 * However many attempts begin in a span, a row holds few numbers: those that began within a small part of the span
 * count as of the latest of them, so the rate is kept, and the span is at most this part longer.
 */
function merged(starts: readonly Start[], { perMs, keptMs }: StoredRate, now: number): readonly Start[] {
  const parts = new Map<string, Start>();
  for (const [at, count] of starts) {
    if (at <= now - keptMs) continue;
    const part = Math.max(1, Math.floor((at > now - perMs ? perMs : keptMs) / PARTS));
    const key = `${part} ${Math.floor(at / part)}`;
    parts.set(key, [at, count + (parts.get(key)?.[1] ?? 0)]);
  }
  return [...parts.values()];
}
