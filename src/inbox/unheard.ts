import { randomInt } from 'node:crypto';
import type { NumberedClaim } from './rules/leases.ts';
import type { ClaimRequest, Lease } from './work.ts';

/** As many numbers as fit into a fence of SQLite; 0 is nobody's. */
const NUMBERS = 2 ** 32;

/**
 * What was asked of a thread that has died before it answered, or of a server whose connection was lost after COMMIT was sent:
 * nobody knows whether it was done. So what is asked next says what was asked before.
 */
export class Unheard {
  #claims: readonly number[] = [];
  readonly #settled = new WeakSet<Lease>();

  /** A claim, which first gives back what was claimed for nobody. */
  async claim<Answer>(request: ClaimRequest, ask: (claim: NumberedClaim) => Promise<Answer>): Promise<Answer> {
    const unheard = this.#claims;
    this.#claims = [];
    // A number is used again when its answer was lost, so there are never more of them than claims at a time.
    const number = unheard[0] ?? randomInt(1, NUMBERS);
    try {
      return await ask({ ...request, number, unheard });
    } catch (failure) {
      this.#claims = [...new Set([...this.#claims, ...unheard, number])];
      throw failure;
    }
  }

  /** The end of an attempt; `again` where this was asked for before. */
  async settle(lease: Lease, ask: (again: boolean) => Promise<boolean>): Promise<boolean> {
    try {
      return await ask(this.#settled.has(lease));
    } catch (failure) {
      this.#settled.add(lease);
      throw failure;
    }
  }
}
