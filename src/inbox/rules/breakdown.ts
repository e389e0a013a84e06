import type { DeadReason, EventState } from '../state.ts';
import type { Bulk } from '../operator/acts.ts';
import { Sums } from './sums.ts';

/** Types are the sender's text: a breakdown names so many, and no longer ones. */
const MOST_TYPES = 100;
const TYPE_CHARACTERS = 200;

/** What the events of a bulk act are, counted one by one. */
export class BreakdownSums {
  readonly #states: Sums;
  readonly #types: Sums;
  readonly #deadReasons: Sums;

  constructor({ states, types, deadReasons }: Bulk['breakdown'] = { states: {}, types: {}, deadReasons: {} }) {
    this.#states = new Sums(states);
    this.#types = new Sums(types);
    this.#deadReasons = new Sums(deadReasons);
  }

  add(state: EventState, type: string | null, deadReason: DeadReason | null): void {
    this.#states.add(state);
    this.#types.add(this.#nameOf(type));
    if (deadReason !== null) this.#deadReasons.add(deadReason);
  }

  toBreakdown(): Bulk['breakdown'] {
    return {
      states: this.#states.toRecord(),
      types: this.#types.toRecord(),
      deadReasons: this.#deadReasons.toRecord(),
    };
  }

  #nameOf(type: string | null): string {
    if (type === null) return 'invalid';
    const name = type.slice(0, TYPE_CHARACTERS).toWellFormed();
    return this.#types.has(name) || this.#types.size < MOST_TYPES ? name : 'other';
  }
}
