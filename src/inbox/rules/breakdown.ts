import type { DeadReason, EventState } from '../state.ts';
import type { Bulk } from '../operator/acts.ts';
import { Sums } from './sums.ts';

/** Types are the sender's text: a breakdown names so many of them and of endpoints, and no longer ones. */
const MOST_NAMES = 100;
const NAME_CHARACTERS = 200;

/** What is counted of an event. */
interface Counted {
  readonly endpoint: string;
  readonly state: EventState;
  readonly type: string | null;
  readonly deadReason: DeadReason | null;
}

/** What the events of a bulk action are, counted one by one. */
export class BreakdownSums {
  readonly #states: Sums;
  readonly #types: Sums;
  readonly #deadReasons: Sums;
  readonly #endpoints: Sums;

  constructor(begun?: Bulk['breakdown']) {
    const { states = {}, types = {}, deadReasons = {}, endpoints = {} } = begun ?? {};
    this.#states = new Sums(states);
    this.#types = new Sums(types);
    this.#deadReasons = new Sums(deadReasons);
    this.#endpoints = new Sums(endpoints);
  }

  add({ state, type, deadReason, endpoint }: Counted): void {
    this.#states.add(state);
    this.#types.add(type === null ? 'invalid' : nameAmong(this.#types, type));
    if (deadReason !== null) this.#deadReasons.add(deadReason);
    this.#endpoints.add(nameAmong(this.#endpoints, endpoint));
  }

  toBreakdown(): Bulk['breakdown'] {
    return {
      states: this.#states.toRecord(),
      types: this.#types.toRecord(),
      deadReasons: this.#deadReasons.toRecord(),
      endpoints: this.#endpoints.toRecord(),
    };
  }
}

function nameAmong(sums: Sums, named: string): string {
  const name = named.slice(0, NAME_CHARACTERS).toWellFormed();
  return sums.has(name) || sums.size < MOST_NAMES ? name : 'other';
}
