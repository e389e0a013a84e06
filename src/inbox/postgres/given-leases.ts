import type { Lease } from '../work.ts';

/** A lease, and the slot of its event when it was written. */
interface LeaseInSlot extends Lease {
  readonly slot: number;
}

/**
 * What claims of this process have written, by their numbers (unheard.ts), until they are heard of. A claim is made statement by
 * statement here, so its leases are known before COMMIT is sent: no fence needs its number in it, and no column.
 */
export class GivenLeases {
  readonly #byClaim = new Map<number, LeaseInSlot[]>();

  note(number: number, { seq, fence, slot }: LeaseInSlot): void {
    const lease = { seq, fence, slot };
    const known = this.#byClaim.get(number);
    if (known === undefined) this.#byClaim.set(number, [lease]);
    else known.push(lease);
  }

  /** Those that were written, of which some may have been taken back with their transaction. */
  under(number: number): readonly Lease[] {
    return this.#byClaim.get(number) ?? [];
  }

  /**
   * The slots of the leases under these numbers. A transaction holds them until it ends, so their lock waits for a COMMIT
   * whose connection was lost. No statement finds the event that such a transaction inserts.
   */
  slotsUnder(numbers: readonly number[]): readonly number[] {
    return numbers.flatMap((number) => this.#byClaim.get(number) ?? []).map(({ slot }) => slot);
  }

  forget(numbers: readonly number[]): void {
    for (const number of numbers) this.#byClaim.delete(number);
  }
}
