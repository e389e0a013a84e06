import type { ModelEvent } from './model-event.ts';

/** A call may wait in the database, whose clock goes on. */
const WAITED_MS = 2_000;

interface Pause {
  readonly until: number;
  /** as that of an event */
  readonly setBackAt: number | null;
}

/** The types that handlers paused, by their endpoints. */
export class TypePauses {
  readonly #pauses = new Map<string, Pause>();

  asked(event: ModelEvent, until: number, now: number, setBackAt: number | null): void {
    const known = this.#pauses.get(laneOf(event));
    const isUnsure = known !== undefined && known.setBackAt !== null && known.until > now;
    const later = Math.max(until, known?.until ?? 0);
    if (until > now)
      this.#pauses.set(laneOf(event), { until: later, setBackAt: isUnsure ? known.setBackAt : setBackAt });
  }

  setBack(passed: number): void {
    for (const [lane, { until, setBackAt }] of this.#pauses) {
      this.#pauses.set(lane, { until, setBackAt: setBackAt ?? passed });
    }
  }

  mustWait(event: ModelEvent, now: number): boolean {
    const pause = this.#pauses.get(laneOf(event));
    return pause !== undefined && pause.setBackAt === null && pause.until > now;
  }

  mayWait(event: ModelEvent, now: number): boolean {
    return (this.#pauses.get(laneOf(event))?.until ?? 0) + WAITED_MS > now;
  }

  /** A pause keeps its length when the clock is set back. */
  hasEnded(event: ModelEvent, now: number, passed: number): boolean {
    const pause = this.#pauses.get(laneOf(event));
    if (pause === undefined) return true;
    return pause.until <= now || (pause.setBackAt !== null && pause.setBackAt <= passed);
  }
}

function laneOf({ endpoint, type }: ModelEvent): string {
  return JSON.stringify([endpoint, type]);
}
