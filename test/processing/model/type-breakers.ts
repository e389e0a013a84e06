import type { Settlement } from '../../../src/inbox/work.ts';
import type { ModelEvent } from './model-event.ts';

/** A call may wait in the database, whose clock goes on. */
const WAITED_MS = 2_000;
/** The attempt of a probe may take as long as a lease at least, and as its handler and a lease at most. */
const PROBE_MS = { least: 3_000, most: 60_000 };

interface Lane {
  failures: number;
  /** `null` while the breaker is closed */
  until: number | null;
  /** when the last probe began */
  probedAt: number | null;
}

/** The types whose attempts failed in a row, by their endpoints. Only directed histories have breakers. */
export class TypeBreakers {
  readonly #lanes = new Map<string, Lane>();

  ended(event: ModelEvent, { breaker, outcome }: Settlement, now: number): void {
    if (breaker === undefined) return;
    const lane = this.#of(event);
    if (outcome === 'processed') {
      this.#lanes.delete(laneOf(event));
      return;
    }
    lane.failures += 1;
    const isOpening = lane.until === null && lane.failures >= breaker.limit;
    if (isOpening || breaker.isProbe) Object.assign(lane, { until: now + breaker.probeMs, probedAt: null });
  }

  mustWait(event: ModelEvent, now: number): boolean {
    const { until, probedAt } = this.#of(event);
    return until !== null && (until > now || (probedAt !== null && probedAt + PROBE_MS.least > now));
  }

  claimed(event: ModelEvent, now: number): void {
    const lane = this.#of(event);
    if (lane.until !== null) lane.probedAt = now;
  }

  mayWait(event: ModelEvent, now: number): boolean {
    const { until, probedAt } = this.#of(event);
    if (until === null) return false;
    return Math.max(until, probedAt === null ? 0 : probedAt + PROBE_MS.most) + WAITED_MS > now;
  }

  #of(event: ModelEvent): Lane {
    const known = this.#lanes.get(laneOf(event)) ?? { failures: 0, until: null, probedAt: null };
    this.#lanes.set(laneOf(event), known);
    return known;
  }
}

function laneOf({ endpoint, type }: ModelEvent): string {
  return JSON.stringify([endpoint, type]);
}
