import type { Lease } from '../work.ts';

/**
 * What claims of this process have written, by their numbers (unheard.ts), until they are heard of. A claim is made statement by
 * statement here, so its leases are known before COMMIT is sent: no fence needs its number in it, and no column.
 */
export class GivenLeases {
  readonly #byClaim = new Map<number, Lease[]>();

  note(number: number, lease: Lease): void {
    const known = this.#byClaim.get(number);
    if (known === undefined) this.#byClaim.set(number, [lease]);
    else known.push(lease);
  }

  /** Those that were written, of which some may have been taken back with their transaction. */
  under(number: number): readonly Lease[] {
    return this.#byClaim.get(number) ?? [];
  }

  forget(numbers: readonly number[]): void {
    for (const number of numbers) this.#byClaim.delete(number);
  }
}
