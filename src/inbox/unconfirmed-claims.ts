import { randomInt } from 'node:crypto';
import { InboxUnavailableError, isInstance } from '../errors.ts';
import type { NumberedClaim, NumberedStart } from './rules/claim.ts';
import type { ClaimRequest, Lease, Settled, StartRequest } from './work.ts';

/**
 * Claims and starts that may be committed although their responses were lost: a thread died, or a connection was lost
 * after COMMIT was sent. Each lease carries the number of its claim. The next claim releases the leases of lost claims,
 * and reports the crashes that they found.
 *
 * Numbers are random, because processes do not share a counter: 32 bits on SQLite, where few processes share a file,
 * and 48 bits on Postgres.
 */
export class UnconfirmedClaims {
  readonly #numbers: number;
  #lost: readonly number[] = [];

  constructor({ bits }: { readonly bits: number }) {
    this.#numbers = 2 ** bits - 1;
  }

  /** @param mayBeDone - whether the transaction may be committed although `ask` failed */
  async claim<Answer>(
    request: ClaimRequest,
    ask: (claim: NumberedClaim & Required<Pick<NumberedClaim, 'number' | 'lostClaims'>>) => Promise<Answer>,
    mayBeDone: (failure: unknown) => boolean = () => true,
  ): Promise<Answer> {
    const lostClaims = this.#lost;
    this.#lost = [];
    // A lost claim's number is used again, so each claim adds at most one number.
    const number = lostClaims[0] ?? this.#newNumber();
    try {
      return await ask({ ...request, number, lostClaims });
    } catch (failure) {
      this.#add([...lostClaims, ...(mayBeDone(failure) ? [number] : [])]);
      throw failure;
    }
  }

  /** @param ask - without a start, it stores the event for a claim */
  async start<Answer>(
    request: StartRequest,
    ask: (start: NumberedStart | undefined) => Promise<Answer>,
    mayBeDone: (failure: unknown) => boolean = hasBegun,
  ): Promise<Answer> {
    // A disk that stays full must not add a number for each delivery.
    if (this.#lost.length > 0) return ask(undefined);
    const number = this.#newNumber();
    try {
      return await ask({ ...request, number });
    } catch (failure) {
      if (mayBeDone(failure)) this.#add([number]);
      throw failure;
    }
  }

  #newNumber(): number {
    return randomInt(1, this.#numbers);
  }

  #add(numbers: readonly number[]): void {
    this.#lost = [...new Set([...this.#lost, ...numbers])];
  }
}

export class UnconfirmedSettlements {
  readonly #leases = new WeakSet<Lease>();

  /** @param ask - its argument says whether an earlier call may have settled the attempt */
  async settle(lease: Lease, ask: (again: boolean) => Promise<Settled>): Promise<Settled> {
    try {
      return await ask(this.#leases.has(lease));
    } catch (failure) {
      this.#leases.add(lease);
      throw failure;
    }
  }
}

/** An inbox that is full, closed or late has not begun to store the event. */
function hasBegun(failure: unknown): boolean {
  return !isInstance(failure, InboxUnavailableError) || failure.code === 'FAILED';
}
