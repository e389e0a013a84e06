import type { ClaimRequest } from '../inbox/work.ts';
import type { LimitsByType } from './handlers.ts';

/** How many handlers may run at once, in all and of each type. */
export class Slots {
  readonly #most: number;
  readonly #bounds: LimitsByType['bounds'];
  /** by the key of their handler */
  readonly #running = new Map<string, number>();
  #busy = 0;

  constructor(most: number, bounds: LimitsByType['bounds']) {
    this.#most = most;
    this.#bounds = bounds;
  }

  get free(): number {
    return Math.max(0, this.#most - this.#busy);
  }

  hasRoomFor(type: string | null): boolean {
    if (this.free === 0) return false;
    const key = this.#keyOf(type);
    return (this.#running.get(key) ?? 0) < (this.#bounds?.get(key) ?? Infinity);
  }

  /** Returns a function that frees the slot. */
  enter(type: string | null): () => void {
    const key = this.#keyOf(type);
    this.#add(key, 1);
    return () => this.#add(key, -1);
  }

  room(): Pick<ClaimRequest, 'room'> {
    if (this.#bounds === null) return {};
    const left = Array.from(this.#bounds, ([key, bound]) => [key, bound - (this.#running.get(key) ?? 0)] as const);
    return { room: Object.fromEntries(left) };
  }

  #keyOf(type: string | null): string {
    return type !== null && this.#bounds?.has(type) === true ? type : '*';
  }

  #add(key: string, change: 1 | -1): void {
    this.#busy += change;
    if (this.#bounds !== null) this.#running.set(key, (this.#running.get(key) ?? 0) + change);
  }
}
